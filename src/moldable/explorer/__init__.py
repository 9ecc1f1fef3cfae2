"""The explorer, a local web page: questions, their answers, figures and tables, page and server.

Questions and answers need neither Plotly (`figures`) nor Dash (`app`, `callbacks`, `layout`,
`shown`).
"""
