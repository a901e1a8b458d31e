"""Texts that want to run, to lead elsewhere, or to spoil a view."""

TEXTS = [
    '<img src=x onerror="window.ran=1">',
    "<script>window.ran=1</script>",
    "<svg onload=window.ran=1><script>window.ran=1</script></svg>",
    "</textarea><script>window.ran=1</script>",
    "</pre></code><iframe src=javascript:window.ran=1></iframe>",
    "[click](javascript:window.ran=1) [data](data:text/html,<script>window.ran=1</script>) <javascript:window.ran=1>",
    "![picture](http://other.example/pixel.png) ![x](javascript:window.ran=1)",
    "[[x\" onclick=\"window.ran=1]] [[<img src=x onerror=window.ran=1>]]",
    "```\" onmouseover=\"window.ran=1\n<b onmouseover=window.ran=1>\n```",
    "\u202eevil\u202d and \u2066isolated\u2069 text \u200f right to left",
    "<style>*{display:none}</style><link rel=stylesheet href=http://other.example/x.css>",
    "<form action=http://other.example><input name=token><button>Log in</button></form>",
    "<base href=http://other.example/><meta http-equiv=refresh content=0;url=http://other.example/>",
    "| a | b |\n|---|---|\n| <img src=x onerror=window.ran=1> | [x](vbscript:x) |",
    "&lt;script&gt;window.ran=1&lt;/script&gt; &#x6a;avascript:x",
]

HOSTILE = [(text, []) for text in TEXTS]
# The same in fields.
HOSTILE += [(f"Plain text {number}.", ["--title", text.splitlines()[0][:150], "--topics", text.splitlines()[0].replace(",", " ")[:80],
                                        "--agent", "<img src=x onerror=window.ran=1>"])
            for number, text in enumerate(TEXTS[:7])]
