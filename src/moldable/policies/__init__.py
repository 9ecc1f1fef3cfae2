"""Policies: rules that choose the width of an arriving job by its class and the idle servers."""
