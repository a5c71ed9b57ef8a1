// Edges in the trees: bytes of keys.
//
// An edge stands in three trees, under keys that hold all there is to it; the value is its rules, 1 byte. Numbers are
// big-endian; a row is its id with the sign bit turned, 8 bytes, a name its number, 4 bytes, and the domain 0 for
// derived edges and 1 for those made by hand.
//
//     "byName"         name, source, destination, domain
//     "bySource"       source, domain, destination, name
//     "byDestination"  destination, name, source, domain
//
// A destination is 1 and a row, or 2, the path in UTF-8, and 0: no destination begins another one, so that every
// question is one about a range of one tree, or of two for source and destination without a name.

/// Where an edge leads, in the trees.
enum StoredDestination: Hashable {
  /// A row, by its id; one that does not exist yet by a number below 0 that stands for it in this transaction.
  case row(Int64)
  /// A file, by its path.
  case file([UInt8])
}

/// An edge in the trees.
struct StoredEdge: Hashable {
  /// The number of the name.
  var name: UInt32
  /// The source's id; see `StoredDestination.row`.
  var source: Int64
  var destination: StoredDestination
  var isDerived: Bool
  var rules: EdgeRules

  // MARK: Keys

  var nameKey: [UInt8] {
    var key = Self.prefix(name, source, destination)
    key.append(domain)
    return key
  }

  /// How much memory it takes, in edges to rows: a long path takes as much as many of these.
  var weight: Int { if case .file(let path) = destination { 1 + path.count / 64 } else { 1 } }

  /// The row that it leads to; nil if that is a file.
  var destinationRow: Int64? { if case .row(let row) = destination { row } else { nil } }

  var sourceKey: [UInt8] {
    var key = Self.prefix(source, isDerived: isDerived, destination)
    key.appendName(name)
    return key
  }

  var destinationKey: [UInt8] {
    var key = Self.prefix(destination, name)
    key.appendRow(source)
    key.append(domain)
    return key
  }

  private var domain: UInt8 { isDerived ? 0 : 1 }

  static func prefix(_ name: UInt32) -> [UInt8] {
    var key: [UInt8] = []
    key.appendName(name)
    return key
  }

  static func prefix(_ name: UInt32, _ source: Int64) -> [UInt8] {
    var key: [UInt8] = []
    key.reserveCapacity(24)
    key.appendName(name)
    key.appendRow(source)
    return key
  }

  static func prefix(_ name: UInt32, _ source: Int64, _ destination: StoredDestination) -> [UInt8] {
    var key = prefix(name, source)
    key.appendEnd(destination)
    return key
  }

  static func prefix(_ source: Int64) -> [UInt8] {
    var key: [UInt8] = []
    key.reserveCapacity(9)
    key.appendRow(source)
    return key
  }

  static func prefix(_ source: Int64, isDerived: Bool) -> [UInt8] {
    var key: [UInt8] = []
    key.reserveCapacity(24)
    key.appendRow(source)
    key.append(isDerived ? 0 : 1)
    return key
  }

  static func prefix(_ source: Int64, isDerived: Bool, _ destination: StoredDestination) -> [UInt8] {
    var key = prefix(source, isDerived: isDerived)
    key.appendEnd(destination)
    return key
  }

  static func prefix(_ destination: StoredDestination) -> [UInt8] {
    var key: [UInt8] = []
    key.reserveCapacity(24)
    key.appendEnd(destination)
    return key
  }

  /// What stands in front of a destination that is a row.
  static let rowPrefix: [UInt8] = [1]

  /// How the keys of all edges begin in the tree by destination that lead to files.
  static let filePrefix: [UInt8] = [2]

  static func prefix(_ destination: StoredDestination, _ name: UInt32) -> [UInt8] {
    var key = prefix(destination)
    key.appendName(name)
    return key
  }

  /// What is above all keys that begin with `prefix`, and below all others that follow; nil if nothing is.
  static func end(of prefix: [UInt8]) -> [UInt8]? {
    var end = prefix
    while let last = end.popLast() {
      if last < .max {
        end.append(last + 1)
        return end
      }
    }
    return nil
  }

  // MARK: Reading

  init(name: UInt32, source: Int64, destination: StoredDestination, isDerived: Bool, rules: EdgeRules) {
    self.name = name
    self.source = source
    self.destination = destination
    self.isDerived = isDerived
    self.rules = rules
  }

  /// Takes an entry of one of the trees apart; nil if it is none. The bytes may be anything.
  init?(_ order: EdgeOrder, _ key: [UInt8], _ value: [UInt8]) {
    var reader = EdgeKeyReader(bytes: key)
    let (name, source, destination, domain): (UInt32?, Int64?, StoredDestination?, UInt8?)
    switch order {
    case .byName: (name, source, destination, domain) = (reader.name(), reader.row(), reader.end(), reader.byte())
    case .bySource:
      source = reader.row()
      domain = reader.byte()
      destination = reader.end()
      name = reader.name()
    case .byDestination:
      destination = reader.end()
      name = reader.name()
      source = reader.row()
      domain = reader.byte()
    }
    guard let name, let source, let destination, let domain, domain <= 1, reader.isAtEnd, value.count == 1,
      value[0] < 64
    else { return nil }
    self.init(
      name: name, source: source, destination: destination, isDerived: domain == 0, rules: EdgeRules(rawValue: value[0])
    )
  }
}

/// Which tree.
enum EdgeOrder: CaseIterable {
  case byName, bySource, byDestination

  /// All of them, without an array for each use.
  static let all = [EdgeOrder.byName, .bySource, .byDestination]
}

extension [UInt8] {
  mutating func appendName(_ name: UInt32) {
    unsafe Swift.withUnsafeBytes(of: name.bigEndian) { unsafe append(contentsOf: $0) }
  }

  mutating func appendRow(_ row: Int64) {
    let word = (UInt64(bitPattern: row) ^ 1 << 63).bigEndian
    unsafe Swift.withUnsafeBytes(of: word) { unsafe append(contentsOf: $0) }
  }

  mutating func appendEnd(_ destination: StoredDestination) {
    switch destination {
    case .row(let row):
      append(1)
      appendRow(row)
    case .file(let path):
      append(2)
      append(contentsOf: path)
      append(0)
    }
  }
}

/// Takes keys apart that may end anywhere.
struct EdgeKeyReader {
  let bytes: [UInt8]
  var offset: Int

  init(bytes: [UInt8], offset: Int = 0) {
    self.bytes = bytes
    self.offset = offset
  }

  var isAtEnd: Bool { offset == bytes.count }

  mutating func byte() -> UInt8? {
    guard offset < bytes.count else { return nil }
    defer { offset += 1 }
    return bytes[offset]
  }

  mutating func name() -> UInt32? {
    guard bytes.count - offset >= 4 else { return nil }
    defer { offset += 4 }
    return bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
  }

  mutating func row() -> Int64? {
    guard bytes.count - offset >= 8 else { return nil }
    defer { offset += 8 }
    let word = bytes[offset..<offset + 8].reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
    return Int64(bitPattern: word ^ 1 << 63)
  }

  mutating func end() -> StoredDestination? {
    switch byte() {
    case 1: return row().map { .row($0) }
    case 2:
      guard let end = bytes[offset...].firstIndex(of: 0), end > offset else { return nil }
      defer { offset = end + 1 }
      return .file(Array(bytes[offset..<end]))
    default: return nil
    }
  }
}
