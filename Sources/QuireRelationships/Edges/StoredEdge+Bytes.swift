// The keys of edges to rows, which all have the same length: written and read without an array.

extension StoredEdge {
  /// The bytes of a key of an edge to a row.
  static let rowKeyByteCount = 22

  /// Where the parts of such a key begin: the name (4), the source (8), the destination (1 and 8), the domain (1).
  private struct Offsets {
    let name, source, destination, domain: Int

    @inline(__always) init(_ order: EdgeOrder) {
      switch order {
      case .byName: (name, source, destination, domain) = (0, 4, 12, 21)
      case .bySource: (source, domain, destination, name) = (0, 8, 9, 18)
      case .byDestination: (destination, name, source, domain) = (0, 9, 13, 21)
      }
    }
  }

  /// The key in a tree.
  func key(_ order: EdgeOrder) -> [UInt8] {
    switch order {
    case .byName: nameKey
    case .bySource: sourceKey
    case .byDestination: destinationKey
    }
  }

  /// Calls `body` with the key in a tree, which is good until it returns.
  @inline(__always)
  func withKey<Result>(_ order: EdgeOrder, _ body: (RawSpan) throws -> Result) rethrows -> Result {
    guard case .row(let row) = destination else { return try unsafe body(key(order).span.bytes) }
    let offsets = Offsets(order)
    var room = (0 as UInt64, 0 as UInt64, 0 as UInt64)
    return try unsafe Swift.withUnsafeMutableBytes(of: &room) { bytes in
      unsafe bytes.storeBytes(of: name.bigEndian, toByteOffset: offsets.name, as: UInt32.self)
      unsafe bytes.storeBytes(of: Self.word(source), toByteOffset: offsets.source, as: UInt64.self)
      unsafe bytes.storeBytes(of: 1, toByteOffset: offsets.destination, as: UInt8.self)
      unsafe bytes.storeBytes(of: Self.word(row), toByteOffset: offsets.destination + 1, as: UInt64.self)
      unsafe bytes.storeBytes(of: isDerived ? 0 : 1, toByteOffset: offsets.domain, as: UInt8.self)
      let key = unsafe UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(bytes)[..<Self.rowKeyByteCount])
      assert(unsafe Array(key) == self.key(order), "a key is written in two ways")
      return try unsafe body(key.bytes)
    }
  }

  /// Takes an entry of one of the trees apart whose edge leads to a row; nil if it is none. The bytes may be anything.
  @inline(__always)
  init?(toRow order: EdgeOrder, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
    let offsets = Offsets(order)
    guard key.count == Self.rowKeyByteCount, unsafe key[offsets.destination] == 1, unsafe key[offsets.domain] <= 1,
      value.count == 1, unsafe value[0] < 64
    else { return nil }
    self.init(
      name: unsafe UInt32(bigEndian: key.loadUnaligned(fromByteOffset: offsets.name, as: UInt32.self)),
      source: Self.row(unsafe key.loadUnaligned(fromByteOffset: offsets.source, as: UInt64.self)),
      destination: .row(Self.row(unsafe key.loadUnaligned(fromByteOffset: offsets.destination + 1, as: UInt64.self))),
      isDerived: unsafe key[offsets.domain] == 0, rules: EdgeRules(rawValue: unsafe value[0]))
  }

  /// A row as it stands in keys.
  @inline(__always) private static func word(_ row: Int64) -> UInt64 { (UInt64(bitPattern: row) ^ 1 << 63).bigEndian }

  /// The row of what stands in a key.
  @inline(__always) private static func row(_ word: UInt64) -> Int64 {
    Int64(bitPattern: UInt64(bigEndian: word) ^ 1 << 63)
  }
}
