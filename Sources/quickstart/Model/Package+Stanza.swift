// From a stanza of a package index to a package.

import Quire

extension Package {
  /// The package that a stanza describes. Fields other than the name may be missing.
  ///
  /// - Throws: `ControlError` with the line of the field that makes no sense.
  init(_ stanza: ControlStanza) throws(ControlError) {
    name = try Self.name(stanza)
    version = stanza.folded("Version") ?? ""
    architecture = stanza.folded("Architecture") ?? "all"
    section = stanza.folded("Section") ?? "unknown"
    // Other archives have priorities of their own.
    priority = stanza.folded("Priority").flatMap { Priority(rawValue: $0) } ?? .optional
    installedSize = try Self.number("Installed-Size", stanza)
    maintainer = stanza.folded("Maintainer") ?? ""
    homepage = stanza.folded("Homepage")
    let text = stanza.text("Description") ?? ""
    let lines = text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
    summary = lines.first.map(String.init) ?? ""
    description = lines.count > 1 ? String(lines[1]) : nil
    dependencies = Dependency.list(stanza.folded("Pre-Depends")) + Dependency.list(stanza.folded("Depends"))
    provides = Dependency.list(stanza.folded("Provides")).compactMap(\.names.first)
  }

  private static func name(_ stanza: ControlStanza) throws(ControlError) -> String {
    guard let field = stanza.field("Package"), let name = stanza.folded("Package"), !name.isEmpty else {
      throw ControlError(line: stanza.line, message: "the stanza has no field “Package”; is this a package index?")
    }
    guard name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
      throw ControlError(line: field.line, message: "the name of a package must be letters, digits and “+-.”")
    }
    guard name.utf8.count <= Limits.rowKeyByteCount else {
      throw ControlError(
        line: field.line, message: "the name of a package is longer than \(Limits.rowKeyByteCount) bytes")
    }
    return name
  }

  private static func number(_ name: String, _ stanza: ControlStanza) throws(ControlError) -> Int {
    guard let field = stanza.field(name), let text = stanza.folded(name) else { return 0 }
    guard let number = Int(text), number >= 0 else {
      throw ControlError(line: field.line, message: "“\(text.prefix(40))” is no number that “\(name)” may have")
    }
    return number
  }
}

extension Dependency {
  /// The dependencies that a field such as `libc6 (>= 2.34), default-mta | mail-transport-agent` lists. What stands
  /// behind a name is left out: version, architectures, build profiles.
  static func list(_ field: String?) -> [Dependency] {
    guard let field else { return [] }
    // In bytes: to take such long texts apart by characters would take most of the time of an import.
    return field.utf8.split(separator: UInt8(ascii: ",")).compactMap { entry in
      let names = entry.split(separator: UInt8(ascii: "|")).compactMap { name($0) }
      return names.isEmpty ? nil : Dependency(names: names)
    }
  }

  private static func name(_ alternative: Substring.UTF8View) -> String? {
    let name = alternative.drop(while: \.isBlank).prefix { byte in
      switch byte {
      case UInt8(ascii: " "), UInt8(ascii: "("), UInt8(ascii: "["), UInt8(ascii: "<"), UInt8(ascii: ":"): false
      default: !byte.isBlank
      }
    }
    return name.isEmpty ? nil : String(Substring(name))
  }
}
