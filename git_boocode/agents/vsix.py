"""A package of the extension for VS Code, a `.vsix`: a zip with a manifest, made without Node.

The wheel is built with this module alone (`.ci/wheel_files.py`), so it imports no other one of the
package.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

_DATE = (1980, 1, 1, 0, 0, 0)  # so that equal sources make equal bytes
_MODE = 0o644 << 16
_TYPES = """<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
  <Default Extension=".js" ContentType="application/javascript"/>
  <Default Extension=".json" ContentType="application/json"/>
  <Default Extension=".md" ContentType="text/markdown"/>
  <Default Extension=".txt" ContentType="text/plain"/>
  <Default Extension=".vsixmanifest" ContentType="text/xml"/>
</Types>
"""
_MANIFEST = """<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id={name} Version={version} Publisher={publisher}/>
    <DisplayName>{title}</DisplayName>
    <Description xml:space="preserve">{description}</Description>
    <Categories>{categories}</Categories>
    <License>extension/LICENSE.txt</License>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value={engine}/>
    </Properties>
  </Metadata>
  <Installation>
    <InstallationTarget Id="Microsoft.VisualStudio.Code"/>
  </Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json"
      Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md"
      Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.License" Path="extension/LICENSE.txt"
      Addressable="true"/>
  </Assets>
</PackageManifest>
"""


def packed(source: Path, license_file: Path) -> bytes:
    """The package of an extension in plain JavaScript, whose files lie in `source`."""
    about = json.loads((source / "package.json").read_text(encoding="utf-8"))
    manifest = _MANIFEST.format(
        name=quoteattr(about["name"]),
        version=quoteattr(about["version"]),
        publisher=quoteattr(about["publisher"]),
        title=escape(about["displayName"]),
        description=escape(about["description"]),
        categories=escape(",".join(about["categories"])),
        engine=quoteattr(about["engines"]["vscode"]),
    )
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as package:
        for name, data in (
            ("extension.vsixmanifest", manifest.encode()),
            ("[Content_Types].xml", _TYPES.encode()),
            *_files(source),
            ("extension/LICENSE.txt", license_file.read_bytes()),
        ):
            entry = zipfile.ZipInfo(name, _DATE)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, _MODE
            package.writestr(entry, data)
    return stream.getvalue()


def _files(source: Path) -> Iterator[tuple[str, bytes]]:
    """What the extension needs at run time."""
    for path in (source / "package.json", source / "README.md", *sorted(source.glob("src/*.js"))):
        yield f"extension/{path.relative_to(source).as_posix()}", path.read_bytes()
