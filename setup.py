"""What pyproject.toml cannot say: templates/ and static/ lie at the top of the repository and go into the package."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

PAGES = ("templates", "static")


class BuildWithPages(build_py):
    """An editable install finds them where they lie (settings.py)."""

    def run(self) -> None:
        if not self.editable_mode:  # what an earlier build left would be packed too
            shutil.rmtree(Path(self.build_lib, "sessions_app"), ignore_errors=True)
        super().run()
        if not self.editable_mode:
            for source, target in self._pages():
                self.mkpath(str(Path(target).parent))
                self.copy_file(source, target)

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        return [*super().get_outputs(include_bytecode), *(target for _, target in self._pages())]

    def _pages(self) -> list[tuple[str, str]]:
        files = [path for folder in PAGES for path in sorted(Path(folder).rglob("*")) if path.is_file()]
        return [(str(path), str(Path(self.build_lib, "sessions_app", path))) for path in files]


setup(cmdclass={"build_py": BuildWithPages})
