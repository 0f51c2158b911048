"""Visualizations of graphs: one HTML file each, which needs no network. Used by `og.view` and by `omnigraph view`.

visualize       what is to be drawn is read through the door
drawings        of schemas, answers and diffs
drawing         nodes, edges and what is said of them, as JSON for the page
visualization   the page: `page.html` with its style, its script and a drawing
"""
