"""Every figure and table of the paper, reproduced with the public names only.

An experiment is a list of cells and what is made of their results (`experiment.py`). Cells are kept
in a folder as they finish (`run_folder.py`), so that a run that was stopped can be taken up again.
`catalogue.py` lists the experiments, `reproduction.py` runs them and `report.py` writes them up.
"""
