"""Every figure and table of the paper, computed with the public names of `moldable` only.

An experiment is a list of cells, and a function that turns their results into tables, figures and
text (`experiment.py`); each experiment has its own file. Finished cells are kept in a folder
(`run_folder.py`), so that a run can be resumed. `run.py` lists and runs the experiments,
`report.py` writes the report.
"""
