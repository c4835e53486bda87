"""The truths of twinax calibrate: what it writes is a network of a catalog, and what it can't use is refused."""
import tomllib
import unittest

from command import CommandTest, launch, run


class CalibrateTest(CommandTest):
    """Between ranks that are threads, on an emulated network."""

    def calibrate(self, *extra, ranks=2):
        before, after = launch(ranks, "loopback")
        return run([*before, "calibrate", "net", *after, *extra])

    def test_what_is_written_can_be_emulated(self):
        catalog = self.folder / "wire.toml"
        result = self.calibrate("--net", "ethernet-1g", "--name", "ours", "-o", catalog)
        self.assertEqual(result.code, 0, result.err)
        self.assertIn(f"written to {catalog}: emulate it with --set net.catalog={catalog} --net ours", result.out)
        self.assertIn("rank 0 to 1, one stream", result.out)
        with open(catalog, "rb") as file:
            network = tomllib.load(file)["ours"]
        self.assertRegex(network["source"], r"measured by twinax calibrate net on \d{4}-\d\d-\d\d, transport loopback, between rank 0 on ")
        self.assertIn("shaped as ethernet-1g", network["source"])
        trained = self.train(2, net__catalog=catalog, net__profile="ours", train__steps=2, model__width=16, model__layers=1)
        self.assertEqual(trained.code, 0, trained.err)

    def test_bad_input_is_refused_before_anything_is_measured(self):
        there = self.folder / "there.toml"
        there.write_text("")
        new = self.folder / "new.toml"
        for arguments, ranks, parts in (
                (("-o", there), 2, [f"-o {there}: exists already"]),
                (("-o", self.folder / "none" / "new.toml"), 2, ["-o ", "none/new.toml: can't be written: No such file or directory"]),
                (("-o", self.folder / ("x" * 300)), 2, ["-o ", "can't be written: File name too long"]),
                (("-o", new, "--between", "0"), 2, ['--between: "0": must be two different ranks, such as 0,1']),
                (("-o", new, "--between", "0,1,1"), 2, ['--between: "0,1,1": must be two different ranks']),
                (("-o", new, "--between", "1,1"), 2, ['--between: "1,1": must be two different ranks']),
                (("-o", new, "--between", "+1,0"), 2, ['--between: "+1,0": must be two different ranks']),
                (("-o", new, "--between", "0,7"), 2, ["--between 0,7: there are ranks 0 to 1"]),
                (("-o", new, "--name", "a b"), 2, ["--name a b: a network's name has letters"]),
                (("-o", new), 1, ["at least 2 ranks"]),
                (("-o", new, "--set", "emulate.accelerator=a100"), 2, ["emulate.accelerator: a wire is measured without computing"])):
            with self.subTest(arguments=arguments):
                result = self.calibrate(*arguments, ranks=ranks)
                self.assertEqual(result.code, 2, result.err)
                self.assertEqual(len(result.errors), 1, result.err)
                for part in parts:
                    self.assertIn(part, result.errors[0])
                self.assertFalse(new.exists())


if __name__ == "__main__":
    unittest.main()
