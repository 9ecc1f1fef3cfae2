"""What does chance do to blocking and execution time at this n?"""
