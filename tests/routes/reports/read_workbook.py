"""Reads a workbook from stdin with openpyxl and prints what a user of a spreadsheet program would see, as JSON."""
import io
import json
import sys

import openpyxl

content = sys.stdin.buffer.read()
formulas = openpyxl.load_workbook(io.BytesIO(content))
values = openpyxl.load_workbook(io.BytesIO(content), data_only=True)


def plain(value):
    return value if value is None or isinstance(value, (bool, int, float, str)) else value.isoformat()


def series(chart):
    return [
        [one.tx.strRef.f, one.cat.strRef.f, one.val.numRef.f, len(one.val.numRef.numCache.pt)]
        for one in chart.series
    ]


print(json.dumps([
    {
        "name": sheet.title,
        "rows": [[plain(cell) for cell in row] for row in values[sheet.title].iter_rows(values_only=True)],
        "formulas": [
            cell.value for row in sheet.iter_rows() for cell in row
            if isinstance(cell.value, str) and cell.value.startswith("=")
        ],
        "frozen": sheet.freeze_panes,
        "filter": sheet.auto_filter.ref,
        "orientation": sheet.page_setup.orientation,
        "outline": [sheet.row_dimensions[row].outlineLevel for row in range(1, sheet.max_row + 1)],
        "images": len(sheet._images),
        "charts": [
            {"kind": type(chart).__name__, "series": series(chart)} for chart in sheet._charts
        ],
    }
    for sheet in formulas
]))
