"""What does theory say without running anything: the fluid limit and the paper's bounds."""
