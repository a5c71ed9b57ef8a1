// What mdb_dump writes of LMDB's databases, and db_dump of Berkeley's: keys and values as lines.

import QuireDatabase

/// The rows of a dump, with keys as texts and values as bytes.
///
/// A dump is a head of lines `name=value` up to `HEADER=END`, then a line for each key and one for each value, behind a
/// space, up to `DATA=END`; and so on for each further database. `format=bytevalue` has hexadecimal digits;
/// `format=print` has the characters that can be printed as they are, and others as a backslash and two digits.
package final class DumpSource: RowSource {
  /// That rows have doubled backslashes, which tools differ in.
  package var leftOut: [LeftOut] {
    if doubledCount == 0 { return [] }
    let reason =
      "two backslashes were taken for one, and mdb_dump -p of LMDB before 0.9.25 writes each as it is: dump without -p"
    return [LeftOut(name: "the certainty of \(doubledCount) rows", reason: reason)]
  }
  /// How many keys became numbers.
  package var coercions: [String: Int] { numberCount == 0 ? [:] : ["numbers as keys": numberCount] }
  private let file: TextFile
  private var lines: LineReader
  private let nameless: String
  private let hexKeys: Bool
  private var head: Head?
  private var numberCount = 0
  /// How many rows have doubled backslashes.
  private var doubledCount = 0
  private var hasHead = false

  private struct Head {
    var collection: String
    var isPrinted = false
    var hasNumbers = false
  }

  /// The dump at `path`, or that of standard input where it is `-`.
  ///
  /// - Parameters:
  ///   - nameless: the collection of the database that has no name.
  ///   - hexKeys: whether keys become hexadecimal digits, as all can be; without that a key has to be UTF-8.
  package init(_ path: String, nameless: String = "main", hexKeys: Bool = false) throws(ImportError) {
    let file = try TextFile(path)
    self.file = file
    (self.nameless, self.hexKeys) = (nameless, hexKeys)
    // Each byte of the longest value may be three characters.
    lines = LineReader(limit: 3 << 30) { count in try file.read(count) }
  }

  package func next() throws -> SourceItem? {
    while true {
      guard let current = head else {
        head = try readHead()
        if head == nil { return nil }
        continue
      }
      let line = try data("a key")
      if line.elementsEqual("DATA=END".utf8) {
        head = nil
        continue
      }
      let keyLine = lines.count
      let value = try data("the value of the key on line \(keyLine)")
      return item(current, line, value, keyLine)
    }
  }

  package func checkUnchanged() throws { try file.checkUnchanged() }

  // MARK: Heads

  /// The head of the next database; nil behind the last one.
  private func readHead() throws -> Head? {
    var head = Head(collection: nameless)
    var isFirst = true
    while let line = try line() {
      if isFirst, line.isEmpty { continue }
      guard let text = String(validating: line, as: UTF8.self) else { throw damaged("a line of a head is no UTF-8") }
      if text == "HEADER=END" {
        hasHead = true
        return head
      }
      guard let equals = text.firstIndex(of: "=") else {
        throw damaged(
          isFirst && lines.count == 1 ? "it does not begin as a dump of mdb_dump's" : "a line of a head has no “=”")
      }
      isFirst = false
      try take(String(text[..<equals]), String(text[text.index(after: equals)...]), &head)
    }
    if isFirst, hasHead { return nil }
    throw damaged("it ends within a head, or is empty")
  }

  private func take(_ name: String, _ value: String, _ head: inout Head) throws(ImportError) {
    switch (name, value) {
    case ("VERSION", "2"), ("VERSION", "3"): break
    case ("VERSION", _): throw damaged("dumps of version \(value) are not known here")
    case ("format", "bytevalue"): head.isPrinted = false
    case ("format", "print"): head.isPrinted = true
    case ("format", _): throw damaged("“\(value)” is no format of dumps")
    case ("database", _): head.collection = value
    case ("integerkey", "1"): head.hasNumbers = true
    case ("duplicates", "1"), ("dupsort", "1"):
      throw damaged(
        "“\(head.collection)” keeps several values under a key: dump the other databases by name, `mdb_dump -s NAME`")
    case ("type", "recno"), ("type", "queue"): throw damaged("a database of the type “\(value)” has no keys")
    default: break
    }
  }

  // MARK: Rows

  private func item(_ head: Head, _ keyLine: [UInt8], _ valueLine: [UInt8], _ number: Int) -> SourceItem {
    func bad(_ reason: String) -> SourceItem {
      .bad(BadRow(table: head.collection, row: "on line \(number)", reason: reason))
    }
    var isDoubled = false
    let keyBytes: [UInt8]
    let value: [UInt8]
    do throws(BadField) {
      keyBytes = try Self.bytes(keyLine, head, &isDoubled)
      value = try Self.bytes(valueLine, head, &isDoubled)
    } catch { return bad(error.reason) }
    if isDoubled { doubledCount += 1 }
    guard let key = key(keyBytes, head) else {
      return bad(
        head.hasNumbers
          ? "Its key is a number of \(keyBytes.count) bytes, and not of 4 or 8."
          : "Its key is no UTF-8. `--hex-keys` makes hexadecimal digits of all keys.")
    }
    let content = SourceRow.Content.bytes(object: value, metadata: nil)
    let row = SourceRow(
      collection: head.collection, key: key, content: content, byteCount: keyBytes.count + value.count)
    return .row(row, table: head.collection, place: "on line \(number)")
  }

  private func key(_ bytes: [UInt8], _ head: Head) -> String? {
    if hexKeys { return bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
    guard head.hasNumbers else { return String(validating: bytes, as: UTF8.self) }
    guard bytes.count == 4 || bytes.count == 8 else { return nil }
    numberCount += 1
    // In the order of the machine that has made them, which is this one everywhere today.
    return bytes.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }.rowKey
  }

  /// The bytes that a line stands for. `isDoubled` is set if it has doubled backslashes.
  private static func bytes(
    _ line: [UInt8], _ head: Head, _ isDoubled: inout Bool
  ) throws(BadField) -> [UInt8] {
    let malformed = BadField(reason: "Its key or its value is not written as the head says.")
    guard line.first == UInt8(ascii: " ") else { throw malformed }
    let text = line.dropFirst()
    guard head.isPrinted else {
      guard let bytes = FieldType.hexadecimal(text) else { throw malformed }
      return bytes
    }
    var bytes: [UInt8] = []
    var rest = text
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "\\") else {
        bytes.append(byte)
        continue
      }
      if rest.first == UInt8(ascii: "\\") {
        bytes.append(rest.removeFirst())
        isDoubled = true
        continue
      }
      guard rest.count >= 2, let escaped = FieldType.hexadecimal(rest.prefix(2)) else { throw malformed }
      // Of what can be printed a backslash alone is written so: that of others is one of the bytes.
      guard !escaped.allSatisfy({ (0x20..<0x7f).contains($0) && $0 != UInt8(ascii: "\\") }) else {
        throw BadField(
          reason: """
            It has a backslash that is not doubled, as mdb_dump -p of LMDB before 0.9.25 writes it. Dump without -p.
            """)
      }
      bytes += escaped
      rest = rest.dropFirst(2)
    }
    return bytes
  }

  // MARK: Lines

  private func data(_ what: String) throws -> [UInt8] {
    guard let line = try line() else { throw damaged("it ends where \(what) is to come: it is cut off") }
    return line
  }

  private func line() throws -> [UInt8]? {
    switch try lines.next() {
    case nil: return nil
    case .whole(var line):
      if line.last == UInt8(ascii: "\r") { line.removeLast() }
      return line
    case .tooLong: throw damaged("it is longer than any value can be")
    }
  }

  private func damaged(_ what: String) -> ImportError {
    ImportError("\(file.name), line \(lines.count): \(what).")
  }
}
