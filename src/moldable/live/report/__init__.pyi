from .comparison import Figure as Figure
from .live_report import LiveReport as LiveReport
from .live_report import live_report as live_report
