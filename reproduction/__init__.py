"""Every figure and table of the paper, computed with the public names of `moldable` only.

An experiment is a list of cells and what is made of their results (`experiment.py`); each has a
file of its own. Cells are kept in a folder as they finish (`run_folder.py`), so that a run that
was stopped can go on. `run.py` lists and runs the experiments, `report.py` writes them up.
"""
