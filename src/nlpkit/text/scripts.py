"""Scripts that write words without spaces, as ranges for the character classes of regular expressions.

Blocks in everyday use of Unicode 15; a run is a stretch of text without any other character in it.
"""

from __future__ import annotations

import re

HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002ffff々〆"
KATAKANA = "\u30a0-\u30ff\u31f0-\u31ff\uff66-\uff9f"
HIRAGANA = "\u3040-\u309f"
SOUTH_EAST = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer

UNSPACED = re.compile(f"[{HAN}{KATAKANA}{HIRAGANA}{SOUTH_EAST}]")
# Chinese and Japanese | South East Asian | anything else: Kana and Han stay together, they make Japanese words together
RUNS = re.compile(f"([{HAN}{KATAKANA}{HIRAGANA}]+)|([{SOUTH_EAST}]+)|([^{HAN}{KATAKANA}{HIRAGANA}{SOUTH_EAST}]+)")
# Han | Katakana | Hiragana | South East Asian, within a run
SCRIPTS = re.compile(f"([{HAN}]+)|([{KATAKANA}]+)|([{HIRAGANA}]+)|([{SOUTH_EAST}]+)")
KANA = re.compile(f"[{KATAKANA}{HIRAGANA}]")
THAI = re.compile("[\u0e00-\u0e7f]")
