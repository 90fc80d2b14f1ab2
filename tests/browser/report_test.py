"""Opens reports in a real browser: ./dev test browser. Usage: report_test.py ISTHMUS [FOLDER FOR SCREENSHOTS [TEST...]]"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from island_model import write_island_model
from large_model import write_large_model
from webdriver import Browser

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = ROOT / "tests" / "models"
SHARED = ROOT.parent / "shared"
ISTHMUS, SHOTS = None, None


def isthmus(*arguments):
    done = subprocess.run([ISTHMUS, *map(str, arguments)], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Pages(unittest.TestCase):
    """One folder of pages and one browser for all tests."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="isthmus-pages-")
        folder = pathlib.Path(cls.folder.name)
        cls.island_model = folder / "island.pt2"
        write_island_model(MODELS / "fmnist/cnn.pt2", cls.island_model, "relu_4")
        cls.island, cls.vit, cls.eval = folder / "island.html", folder / "vit.html", folder / "eval.html"
        isthmus("compile", cls.island_model, "--target", "xnnpack", "--calibrate", MODELS / "fmnist/calib_32.npz", "-q",
                "--report", cls.island, "-o", folder / "island.pte")
        isthmus("compile", MODELS / "fmnist/vit.pt2", "--target", "ethos-u55-128", "--calibrate",
                MODELS / "fmnist/calib_32.npz", "-q", "--report", cls.vit, "-o", folder / "vit.pte")
        isthmus("eval", folder / "island.pte", "--reference", cls.island_model, "--data",
                MODELS / "fmnist/test_500.npz", "--samples", "20", "-q", "--report", cls.eval)
        cls.window = Browser()
        cls.browser = cls.window.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.window.__exit__(None, None, None)
        cls.folder.cleanup()

    def open(self, page, fragment=""):
        self.browser.open(page, fragment)
        self.browser.do("POST", "/refresh", {})  # also where the page before was the same file
        self.assertEqual(self.browser.errors(), [])
        return self.browser

    def tearDown(self):
        self.assertEqual(self.browser.errors(), [])

    def focused(self):
        return self.browser.script("return document.activeElement.getAttribute('aria-label') || document.activeElement.id")

    def shoot(self, name, css=None):
        if SHOTS:
            self.browser.screenshot(os.path.join(SHOTS, name + ".png"), css)

    def test_the_verdict_comes_first(self):
        page = self.open(self.island)
        self.assertEqual(page.text("h1"), "1 of 18 operators falls back to the CPU; 2 delegates on XNNPACK")
        self.assertIn("outputs have SQNR", page.text(".reasons"))
        labels = page.script("return [...document.querySelectorAll('.tile dt')].map((one) => one.textContent)")
        self.assertLessEqual({"Target", "Delegates", "On the CPU", "Program", "Memory", "Accuracy"}, set(labels))
        self.assertIn("sort", page.text("#fallbacks tbody tr"))

    def test_search_finds_by_name_op_module_and_line(self):
        page = self.open(self.island)
        for words in ("relu_4", "sort", "down.0.2", "gen_corpus.py:547 sort"):
            page.script("document.getElementById('search').value = ''")
            page.type("#search", words)
            page.wait_for("!document.getElementById('found').hidden")
            self.assertIn("sort", page.text("#found li"), words)
        page.press("Enter")
        page.wait_for("document.querySelector('#detail h3').textContent.startsWith('sort')")
        page.script("document.getElementById('search').value = ''")
        page.type("#search", "no such node")
        page.wait_for("document.getElementById('found').hidden")

    def test_a_click_shows_the_reasons(self):
        page = self.open(self.island)
        page.click("button[aria-label='Fit the whole graph']")  # what is outside of the picture cannot be clicked
        page.click("#item-n" + str(self.index_of("relu_4")))
        detail = page.text("#detail")
        for words in ("runs on the CPU", "Why it is on the CPU", "cannot lower this operator to XNNPACK", "1 delegate instead of 2",
                      "What calibration saw", "gen_corpus.py:547"):
            self.assertIn(words, detail)
        page.click("#item-n" + str(self.index_of("concat")))
        detail = page.text("#detail")
        for words in ("scale", "zero point", "shares its scale with", "SQNR here", "int8"):
            self.assertIn(words, detail)

    def test_the_pictures_of_the_concepts_page(self):
        page = self.open(self.island, "#node=relu_4")
        self.assertIn("runs on the CPU", page.text("#detail"))
        self.shoot("concepts-graph", ".workspace")
        self.assertIn("concat", page.text("#groups details"))
        self.shoot("concepts-scales", "#groups")

    def index_of(self, name):
        return self.browser.script("return JSON.parse(document.getElementById('data').textContent)"
                                   ".graph.nodes.findIndex((node) => node.name === arguments[0])", name)

    def test_the_keyboard_reaches_everything(self):
        page = self.open(self.island)
        page.script("document.querySelector('.graph [tabindex=\"0\"]').focus()")
        page.press("Home")
        self.assertTrue(self.focused().startswith("input x"), self.focused())
        seen = {self.focused()}
        for _ in range(60):
            page.press("ArrowDown")
            seen.add(self.focused())
        self.assertTrue(any(label.startswith("sort relu_4") for label in seen), seen)
        self.assertTrue(self.focused().startswith("output"), self.focused())
        page.press("ArrowUp", "ArrowLeft")
        closed = self.focused()
        page.press("Home", "ArrowDown")
        self.assertTrue(self.focused().startswith("module stem"), self.focused())
        page.press("ArrowLeft")
        self.assertEqual(page.script("return document.activeElement.getAttribute('aria-expanded')"), "false", closed)
        page.press("ArrowRight")
        self.assertEqual(page.script("return document.activeElement.getAttribute('aria-expanded')"), "true")
        page.press("ArrowDown", "Enter")
        self.assertEqual(page.script("return document.activeElement.closest('#detail') !== null"), True)

    def test_zoom_and_pan(self):
        page = self.open(self.island)
        place = "return document.querySelector('.graph .layer').getAttribute('transform')"
        before = page.script(place)
        page.click("button[aria-label='Zoom in']")
        self.assertNotEqual(page.script(place), before)
        page.click("button[aria-label='Fit the whole graph']")
        fitted = page.script(place)
        box = page.script("const r = document.querySelector('.canvas').getBoundingClientRect();"
                          "return [Math.round(r.left + 15), Math.round(r.top + 15)]")
        move = [{"type": "pointerMove", "x": box[0], "y": box[1]}, {"type": "pointerDown", "button": 0},
                {"type": "pointerMove", "x": box[0] + 60, "y": box[1] + 40}, {"type": "pointerUp", "button": 0}]
        page.do("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": move}]})
        self.assertNotEqual(page.script(place), fitted)

    def test_both_themes(self):
        page = self.open(self.island)
        ground = "return getComputedStyle(document.body).backgroundColor"
        colours = {}
        for _ in range(3):
            page.click("#theme")
            colours[page.text("#theme")] = page.script(ground)
            self.shoot("island-" + page.text("#theme").rsplit(" ", 1)[1])
        self.assertNotEqual(colours["Theme: light"], colours["Theme: dark"])
        self.assertEqual(set(colours), {"Theme: light", "Theme: dark", "Theme: system"})

    def test_text_has_contrast_in_both_themes(self):
        page = self.open(self.island)
        for theme in ("light", "dark"):
            low = page.script(CONTRAST, theme)
            self.assertEqual(low, [], theme)

    def test_every_control_has_a_name(self):
        page = self.open(self.vit)
        nameless = page.script("""
            return [...document.querySelectorAll('button, input, select, [role=treeitem], svg[role=img], section, aside')]
              .filter((one) => !(one.getAttribute('aria-label') || one.getAttribute('aria-labelledby') ||
                                 one.textContent.trim() || (one.labels && one.labels.length)))
              .map((one) => one.outerHTML.slice(0, 80))""")
        self.assertEqual(nameless, [])
        outline = page.script("return [...document.querySelectorAll('h1, h2, h3')].map((one) => +one.tagName[1])")
        self.assertEqual(outline[0], 1)
        self.assertTrue(all(b - a <= 1 for a, b in zip(outline, outline[1:])), outline)

    def test_an_npu_shows_cycles_and_device_operators(self):
        page = self.open(self.vit)
        self.assertIn("Cycles", page.text("#figures"))
        self.assertRegex(page.text("#cost tbody tr"), r"%")
        page.click("#cost tbody tr button")
        self.assertIn("Operators of the device", page.text("#detail"))
        self.shoot("vit-npu")

    def test_a_link_opens_at_a_node(self):
        page = self.open(self.vit, "#node=linear")
        self.assertIn("%linear", page.text("#detail h3"))

    def test_what_eval_finds(self):
        page = self.open(self.eval)
        self.assertIn("top-1 accuracy is ", page.text("h1"))
        self.assertIn("Agreement with float", page.text("#figures"))
        self.assertIn("output_0", page.text("#outputs"))

    def test_nothing_is_loaded(self):
        for path in (self.island, self.vit, self.eval):
            page = self.open(path)
            self.assertEqual(page.script("return performance.getEntriesByType('resource').map((one) => one.name)"), [])
            self.assertLess(path.stat().st_size, 2_000_000)

    def test_hostile_names_do_nothing(self):
        hostile = "</script><img src=x onerror=document.title=1>"
        text = self.island.read_text().replace("relu_4", hostile.replace("<", "\\u003c"))
        copy = pathlib.Path(self.folder.name) / "hostile.html"
        copy.write_text(text)
        page = self.open(copy)
        page.type("#search", "onerror")
        page.wait_for("!document.getElementById('found').hidden")
        page.press("Enter")
        page.wait_for("document.querySelector('#detail h3').textContent.includes('onerror')")
        self.assertEqual(page.script("return document.images.length"), 0)
        self.assertNotEqual(page.script("return document.title"), "1")

    def test_thousands_of_operators(self):
        model, out = (pathlib.Path(self.folder.name) / name for name in ("thousands.pt2", "thousands.html"))
        write_large_model(MODELS / "fmnist/cnn.pt2", model, "relu_4", 5200)
        isthmus("check", model, "--target", "xnnpack", "-q", "--report", out)
        page = self.open(out)
        self.assertIn("5,218 operators", page.text("h1"))
        self.assertLess(page.script("return document.querySelectorAll('.graph .item').length"), 200)
        page.type("#search", "more_4711")
        page.wait_for("!document.getElementById('found').hidden")
        page.press("Enter")
        page.wait_for("document.querySelector('#detail h3').textContent.includes('more_4711')")
        # Only the modules around it are opened, and it alone is marked.
        self.assertLess(page.script("return document.querySelectorAll('.graph .item').length"), 400)
        self.assertEqual(page.script("return document.querySelectorAll('.graph .item.hit').length"), 1)
        self.shoot("thousands")

    @unittest.skipUnless(SHARED.exists(), "the wider models are not here")
    def test_a_large_model(self):
        out = pathlib.Path(self.folder.name) / "deit.html"
        isthmus("compile", SHARED / "golden/deit_tiny.pt2", "--target", "xnnpack", "--calibrate",
                SHARED / "golden/calib_32.npz", "--samples", "4", "-q", "--report", out, "-o", str(out) + ".pte")
        self.assertLess(out.stat().st_size, 2_000_000)
        page = self.open(out)
        for theme in ("light", "dark"):
            page.script("document.documentElement.dataset.theme = arguments[0]", theme)
            self.shoot("deit-" + theme)
        page.click("button[aria-label='Expand all modules']")
        self.assertGreater(page.script("return document.querySelectorAll('.graph .item').length"), 400)


# WCAG's ratio of text to ground, for all text that is visible; 4.5 is asked of small text.
CONTRAST = """
document.documentElement.dataset.theme = arguments[0];
const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
const rgb = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
const light = (c) => { const l = c.slice(0, 3).map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * l[0] + 0.7152 * l[1] + 0.0722 * l[2]; };
const ground = (one) => { for (let at = one; at; at = at.parentElement) { const c = rgb(getComputedStyle(at).backgroundColor); if (c[3] === 255) return c; } return [255, 255, 255]; };
const low = new Set();
for (const one of document.querySelectorAll('body *:not(script):not(style):not(svg *)')) {
  if (![...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim())) continue;
  if (!one.getClientRects().length || one.closest('.unseen, .skip, noscript')) continue;
  const a = light(rgb(getComputedStyle(one).color)), b = light(ground(one));
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) low.add(one.tagName + '.' + one.className + ' ' + ratio.toFixed(2));
}
return [...low];
"""

if __name__ == "__main__":
    ISTHMUS = os.path.abspath(sys.argv[1])
    SHOTS = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else None
    if SHOTS:
        os.makedirs(SHOTS, exist_ok=True)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
