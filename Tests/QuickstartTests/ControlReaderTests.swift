// Control files: what is in them, and what hostile ones do not do.

import Testing

@testable import quickstart

/// All stanzas of a text, read in pieces of `pieceCount` bytes.
private func stanzas(_ bytes: [UInt8], pieceCount: Int = 1 << 20) throws -> [ControlStanza] {
  var rest = bytes[...]
  var reader = ControlReader {
    defer { rest = rest.dropFirst(pieceCount) }
    return Array(rest.prefix(pieceCount))
  }
  var found: [ControlStanza] = []
  while let stanza = try reader.next() {
    stanza.checkInvariants()
    reader.checkInvariants()
    found.append(stanza)
  }
  #expect(reader.byteCount == bytes.count)
  return found
}

private func stanzas(_ text: String) throws -> [ControlStanza] { try stanzas(Array(text.utf8)) }

/// The error that reading the bytes ends with.
private func failure(_ bytes: [UInt8]) -> ControlError? {
  #expect(throws: ControlError.self) { try stanzas(bytes) }
}

@Suite struct ControlReaderTests {
  private static let sample = """
    # A comment.
    Package: bash
    Depends: base-files (>= 2.1.12),
     debianutils,
    \tlibc6
    Description: GNU Bourne Again SHell
     Bash is a shell.
     .
      It is old.


    Package: dash
    version:0.5\u{20}
    Empty:

    """

  @Test("Fields go on over lines, are found in any case, and end with their stanza")
  func readsFields() throws {
    let found = try stanzas(Self.sample)
    try #require(found.count == 2)
    #expect(found.map(\.line) == [2, 12])
    #expect(found[0].folded("Package") == "bash")
    #expect(found[0].folded("depends") == "base-files (>= 2.1.12), debianutils, libc6")
    #expect(found[0].text("Description") == "GNU Bourne Again SHell\nBash is a shell.\n\nIt is old.")
    #expect(found[0].folded("Version") == nil)
    #expect(found[1].folded("VERSION") == "0.5")
    #expect(found[1].folded("Empty")?.isEmpty == true)
    #expect(found[1].field("Version")?.line == 13)
  }

  @Test("Pieces of any size, line ends of both kinds and a last line without one make no difference")
  func piecesMakeNoDifference() throws {
    let expected = try stanzas(Self.sample)
    let windows = Self.sample.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\r\n")
    for bytes in [Array(Self.sample.utf8), Array(Self.sample.utf8.dropLast()), Array(windows.utf8)] {
      for pieceCount in [1, 2, 3, 7, 64] {
        let found = try stanzas(bytes, pieceCount: pieceCount)
        #expect(found.map(\.line) == expected.map(\.line))
        for name in ["Package", "Depends", "Version", "Empty"] {
          #expect(found.map { $0.folded(name) } == expected.map { $0.folded(name) })
        }
        #expect(found[0].text("Description") == expected[0].text("Description"))
      }
    }
  }

  @Test("Bytes that are no UTF-8 do not stop it")
  func oddEncodings() throws {
    let latin: [UInt8] = [0xf6]
    let bytes = Array("Package: x\nMaintainer: J".utf8) + latin + Array("rg <j@x.org>\nDescription: ".utf8) + [0xff, 0]
    let found = try stanzas(bytes)
    #expect(found.first?.folded("Maintainer") == "J\u{fffd}rg <j@x.org>")
    #expect(found.first?.text("Description") == "\u{fffd}\0")
  }

  @Test("Nothing, and nothing but empty lines and comments, is no stanza")
  func nothing() throws {
    for text in ["", "\n", "\n \t\n\r\n", "# nothing\n#\n"] { #expect(try stanzas(text).isEmpty) }
  }

  @Test(
    "What is no control file is an error with its line",
    arguments: [
      ("Package: a\nno field\n", 2), (" goes on\n", 1), ("Package: a\n\n\tgoes on\n", 3), (": no name\n", 1),
      ("Pack age: a\n", 1), ("A: 1\nB: 2\na: 3\n", 3), ("\u{1f}\u{7f}: x\n", 1), ("Ä: x\n", 1),
    ])
  func hostileLines(text: String, line: Int) {
    #expect(failure(Array(text.utf8))?.line == line)
  }

  @Test("Compressed files are known by their first bytes")
  func compressedFiles() {
    #expect(failure([0x1f, 0x8b, 8, 0])?.message.contains("gzip -dc") == true)
    #expect(failure([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0])?.message.contains("xz -dc") == true)
  }

  @Test("Lines, stanzas and lists of fields without end are errors")
  func endlessInput() {
    let long = Array("Package: a\nB: ".utf8) + [UInt8](repeating: 0x61, count: ControlReader.lineByteCount)
    #expect(failure(long + [0x0a])?.line == 2)
    #expect(failure(long)?.line == 2)
    let fields = (0...ControlReader.fieldCount).map { "F\($0): x\n" }.joined()
    #expect(failure(Array(fields.utf8))?.line == ControlReader.fieldCount + 1)
    let lines = Array("A: b\n".utf8) + [UInt8](repeating: 0x20, count: 1) + [0x61, 0x0a]
    let part = [0x20] + [UInt8](repeating: 0x61, count: 1 << 19) + [0x0a]
    let stanza = lines + (0...ControlReader.stanzaByteCount >> 19).flatMap { _ in part }
    #expect(failure(stanza)?.message.contains("stanza") == true)
  }

  @Test("Random bytes and broken indexes end without a trap", arguments: UInt64(0)..<40)
  func randomBytes(seed: UInt64) throws {
    var random = SplitMix(state: seed)
    var bytes = Array(Self.sample.utf8)
    for _ in 0..<10 {
      let position = Int(random.next() % UInt64(bytes.count))
      bytes[position] = UInt8(truncatingIfNeeded: random.next())
    }
    if seed % 4 == 0 { bytes = (0..<500).map { _ in UInt8(truncatingIfNeeded: random.next()) } }
    do {
      for stanza in try stanzas(bytes, pieceCount: 1 + Int(seed)) { _ = try Package(stanza) }
    } catch is ControlError {
      // An error with a line is as good as a package.
    }
  }
}

/// Random numbers of a seed.
struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var word = state
    word = (word ^ (word >> 30)) &* 0xbf58_476d_1ce4_e5b9
    word = (word ^ (word >> 27)) &* 0x94d0_49bb_1331_11eb
    return word ^ (word >> 31)
  }
}
