"""A figure's SVG inside the page."""

from sdsl.report.output import page


def test_marks_know_their_method():
    svg = (
        f'<?xml?><svg width="1pt" height="2pt"><g id="method-{b"ours".hex()}-3"/><g id="a"/></svg>'
    )
    found = page.inline(svg, "x", {"ours": 7})
    assert found == '<svg  ><g data-m="7"/><g id="x-a"/></svg>'
