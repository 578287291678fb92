"""Draw the dashboard of deploy/grafana with what a Prometheus has: dashboard_picture.py PROMETHEUS_URL MINUTES FILE.svg

Grafana itself draws more finely. The queries, titles, units, legends and places of the panels are the dashboard's own.
"""

import json
import re
import sys
import time
import urllib.parse
import urllib.request
import xml.etree.ElementTree as ET
from pathlib import Path

import pygal
from pygal.style import LightStyle

DASHBOARD = Path(__file__).parents[1] / "deploy" / "grafana" / "pitstop-jobs.json"
COLUMN, ROW, GAP = 60, 36, 6
"""The size of a unit of Grafana's grid, and the space between panels, in pixels."""
POINTS = 60
SVG = "http://www.w3.org/2000/svg"
Series = tuple[str, list[tuple[float, float]]]
"""A legend, and points of time and value."""
LONGEST = 14
"""The most letters of a legend below a value."""
UNITS = {"s": "s", "bytes": "bytes", "rows/s": "rows/s"}


def main() -> None:
    url, minutes, target = sys.argv[1], float(sys.argv[2]), Path(sys.argv[3])
    dashboard = json.loads(DASHBOARD.read_text())
    end = time.time()
    ET.register_namespace("", SVG)
    height = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in dashboard["panels"])
    picture = ET.Element(f"{{{SVG}}}svg", {"viewBox": f"0 0 {24 * COLUMN} {height * ROW}", "font-family": "sans-serif"})
    ET.SubElement(picture, f"{{{SVG}}}rect", {"width": "100%", "height": "100%", "fill": "#f4f5f5"})
    for panel in dashboard["panels"]:
        series = [line for target in panel["targets"] for line in series_of(url, target, end - 60 * minutes, end)]
        draw = values_of if panel["type"] == "stat" else lines_of
        picture.append(draw(panel, series))
    target.write_bytes(ET.tostring(picture))


def series_of(url: str, target: dict, start: float, end: float) -> list[Series]:
    """Return the series of a query with their legends, as pairs of a time and a value."""
    query = target["expr"].replace("$job", ".*")
    asked = {"query": query, "start": start, "end": end, "step": (end - start) / POINTS}
    with urllib.request.urlopen(f"{url}/api/v1/query_range?{urllib.parse.urlencode(asked)}") as answer:
        result = json.load(answer)["data"]["result"]
    return [(legend_of(target, each["metric"]), [(at, float(value)) for at, value in each["values"]]) for each in result]


def legend_of(target: dict, labels: dict[str, str]) -> str:
    return re.sub(r"{{\s*(\w+)\s*}}", lambda name: labels.get(name[1], ""), target.get("legendFormat", ""))


def lines_of(panel: dict, series: list[Series]) -> ET.Element:
    """Return a panel of lines over time."""
    width, height = size_of(panel)
    unit = UNITS.get(panel.get("fieldConfig", {}).get("defaults", {}).get("unit", ""), "")
    style = LightStyle(background="#ffffff", plot_background="#ffffff", title_font_size=13, label_font_size=9, legend_font_size=9)
    chart = pygal.XY(
        style=style, width=width, height=height, title=panel["title"], y_title=unit or None, show_dots=False, margin=6,
        margin_bottom=14,
        legend_at_bottom=True, legend_at_bottom_columns=3, legend_box_size=8, truncate_legend=40,
        no_data_text="nothing in this time",
        x_value_formatter=lambda at: time.strftime("%H:%M", time.gmtime(at)), js=(), no_prefix=True, x_labels_major_count=4,
        show_minor_x_labels=False, disable_xml_declaration=True,
    )  # fmt: skip
    for legend, points in series:
        chart.add(legend, points)
    return placed(panel, ET.fromstring(chart.render()))


def values_of(panel: dict, series: list[Series]) -> ET.Element:
    """Return a panel of the newest values."""
    width, height = size_of(panel)
    drawing = ET.Element(f"{{{SVG}}}svg", {"viewBox": f"0 0 {width} {height}"})
    ET.SubElement(drawing, f"{{{SVG}}}rect", {"width": str(width), "height": str(height), "fill": "#ffffff"})
    middle = {"text-anchor": "middle"}
    ET.SubElement(drawing, f"{{{SVG}}}text", {"x": str(width / 2), "y": "20", "font-size": "13", **middle}).text = panel["title"]
    for number, (legend, points) in enumerate(series):
        middle |= {"x": str(width * (number + 0.5) / len(series))}
        value = ET.SubElement(drawing, f"{{{SVG}}}text", {"y": str(height - 45), "font-size": "36", "fill": "#1f60c4", **middle})
        value.text = f"{points[-1][1]:g}"
        name = ET.SubElement(drawing, f"{{{SVG}}}text", {"y": str(height - 18), "font-size": "11", **middle})
        name.text = legend if len(legend) <= LONGEST else f"{legend[: LONGEST - 1]}…"
    return placed(panel, drawing)


def size_of(panel: dict) -> tuple[int, int]:
    return panel["gridPos"]["w"] * COLUMN - GAP, panel["gridPos"]["h"] * ROW - GAP


def placed(panel: dict, drawing: ET.Element) -> ET.Element:
    """Return a drawing in the place of its panel."""
    width, height = size_of(panel)
    grid = panel["gridPos"]
    drawing.attrib |= {"x": str(grid["x"] * COLUMN), "y": str(grid["y"] * ROW), "width": str(width), "height": str(height)}
    return drawing


if __name__ == "__main__":
    main()
