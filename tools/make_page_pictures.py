"""Takes the pictures of docs/endpoint.md: the endpoint's page in Chromium.

`python tools/make_page_pictures.py http://127.0.0.1:8501/`, before a server of the demo's run. It
needs playwright, and Chromium on the path.
"""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
TEXT = (
    "The old woman reads a good book in the garden.\n"
    "We do not want to visit the museum tomorrow.\n\n"
    "When does the train arrive on Friday?"
)
PICTURES = {
    "page.png": {"viewport": {"width": 1040, "height": 700}},
    "page_phone.png": {
        "viewport": {"width": 375, "height": 780},
        "color_scheme": "dark",
        "device_scale_factor": 2,
    },
}
# The token that is pointed at: "Zug".
POINTED = 3


def take(page, url, path):
    """Types the text, asks for alternatives of a token, points at it, and takes a picture."""
    page.goto(url)
    page.locator("#source").fill(TEXT)
    page.locator("#source").press("Control+End")
    token = page.locator("#target-words .token").nth(POINTED)
    token.click()
    page.locator("#alternatives .scored").first.wait_for()
    page.locator("#foot").hover()
    token.hover()
    page.screenshot(path=path, full_page=True)


def main():
    """Takes all pictures."""
    [url] = sys.argv[1:]
    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=options)
        for name, context in PICTURES.items():
            take(browser.new_context(**context).new_page(), url, FOLDER / name)
        browser.close()


if __name__ == "__main__":
    main()
