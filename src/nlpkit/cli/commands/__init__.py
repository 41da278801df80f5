"""Commands: each reads its options, calls one public function and hands the result to cli.render."""
