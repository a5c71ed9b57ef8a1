// What is written comes back, and what nobody has written is refused without a trap.

import QuireStorage
import QuireTesting
import Testing

@Suite struct FormatTests {
  private func noise(_ count: Int, _ random: inout SeededRandom) -> [UInt8] {
    (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next() >> 24) }
  }

  @Test func varintsComeBack() {
    var random = SeededRandom(seed: 1)
    var values: [UInt64] = [.max]
    for bit: UInt64 in 0..<64 {
      let power: UInt64 = 1 << bit
      values += [power, power - 1]
    }
    for _ in 0..<1000 { values.append(random.next() >> UInt64(random.below(64))) }
    for value in values {
      var bytes = [UInt8](repeating: 0xee, count: 12)
      let count = bytes.withUnsafeMutableBytes { buffer in
        buffer.baseAddress.map { Varint.write(value, to: $0) } ?? 0
      }
      var offset = 0
      let read = bytes.withUnsafeBytes { Varint.read($0, at: &offset) }
      #expect(read == value && offset == count && count <= Varint.maximumByteCount)
      // Cut short, it is none.
      var start = 0
      #expect(bytes[..<(count - 1)].withUnsafeBytes { Varint.read($0, at: &start) } == nil)
    }
    for bytes in [[UInt8](repeating: 0xff, count: 10), [UInt8](repeating: 0x80, count: 20)] {
      var offset = 0
      #expect(bytes.withUnsafeBytes { Varint.read($0, at: &offset) } == nil, "more than 64 bits")
    }
  }

  @Test func zigzagKeepsEveryInteger() {
    for value in [Int64.min, .max, 0, -1, 1, .min + 1] {
      #expect(LogOperation.unzigzag(LogOperation.zigzag(value)) == value)
    }
    #expect(LogOperation.zigzag(-1) == 1 && LogOperation.zigzag(1) == 2)
  }

  @Test func logOperationsComeBack() throws {
    var random = SeededRandom(seed: 2)
    for _ in 0..<200 {
      let buffer = LogBuffer()
      var expected: [String] = []
      for _ in 0..<random.below(20) {
        let tree = TreeID(random.next() >> UInt64(random.below(64)))
        let (key, value) = (noise(random.below(60), &random), noise(random.below(300), &random))
        let integer = Int64(bitPattern: random.next())
        key.withUnsafeBytes { key in
          value.withUnsafeBytes { value in
            switch random.below(8) {
            case 6:
              let (from, to) = (random.oneIn(2) ? SearchKey(key) : nil, random.oneIn(2) ? SearchKey(value) : nil)
              _ = buffer.deleteRange(tree, .bytes, from: from, to: to)
              let text = "\(from == nil ? "" : "\(Array(key))") \(to == nil ? "" : "\(Array(value))")"
              expected.append("delete range \(tree) \(text)")
            case 7:
              let (from, to) = (random.oneIn(2) ? SearchKey(integer) : nil, random.oneIn(2) ? SearchKey(-5) : nil)
              _ = buffer.deleteRange(tree, .int64, from: from, to: to)
              expected.append("delete range \(tree) \(from == nil ? "" : "\(integer)") \(to == nil ? "" : "-5")")
            case 0:
              _ = buffer.put(tree, .bytes, SearchKey(key), value)
              expected.append("put \(tree) \(Array(key)) \(Array(value))")
            case 1:
              _ = buffer.put(tree, .int64, SearchKey(integer), value)
              expected.append("put \(tree) \(integer) \(Array(value))")
            case 2:
              _ = buffer.delete(tree, .bytes, SearchKey(key))
              expected.append("delete \(tree) \(Array(key))")
            case 3:
              _ = buffer.delete(tree, .int64, SearchKey(integer))
              expected.append("delete \(tree) \(integer)")
            case 4:
              buffer.createTree(tree, .int64, name: "name \(integer)")
              expected.append("create \(tree) int64 name \(integer)")
            default:
              buffer.dropTree(tree)
              buffer.nextRowID(integer)
              expected += ["drop \(tree)", "row \(integer)"]
            }
          }
        }
      }
      let header = LogRecordHeader(
        kind: .commit, bodyByteCount: buffer.bodyByteCount, lsn: LSN(4096), csn: CSN(7), previousCSN: CSN(5),
        chain: random.next(), durableLSN: LSN(3), durableCheckpoint: 2)
      let record = buffer.seal(header, seed: 99)
      let decoded = try #require(record.baseAddress.flatMap { LogRecordHeader.decode($0, seed: 99) })
      #expect(decoded.header == header)
      #expect(record.baseAddress.map { LogRecordHeader.decode($0, seed: 98) == nil } == true)
      #expect(record.count == header.recordByteCount && record.count % 8 == 0)
      let body = UnsafeRawBufferPointer(rebasing: record[LogLayout.headerByteCount...].prefix(buffer.bodyByteCount))
      #expect(Self.operations(body) == expected)
    }
  }

  private static func operations(_ body: UnsafeRawBufferPointer) -> [String] {
    var reader = LogOperationReader(body)
    var found: [String] = []
    while let operation = reader.next() { found.append(describe(operation)) }
    return reader.isDamaged ? found + ["damaged"] : found
  }

  private static func describe(_ operation: LogOperation) -> String {
    func text(_ key: LogOperation.SearchKeyBytes) -> String {
      switch key {
      case .bytes(let bytes): "\(Array(bytes))"
      case .int64(let key): "\(key)"
      }
    }
    switch operation {
    case .put(let tree, let key, let value): return "put \(tree) \(text(key)) \(Array(value))"
    case .delete(let tree, let key): return "delete \(tree) \(text(key))"
    case .createTree(let tree, let kind, let name):
      return "create \(tree) \(kind) \(String(decoding: name, as: UTF8.self))"
    case .dropTree(let tree): return "drop \(tree)"
    case .deleteRange(let tree, let lower, let upper):
      return "delete range \(tree) \(lower.map(text) ?? "") \(upper.map(text) ?? "")"
    case .nextRowID(let next): return "row \(next)"
    }
  }

  @Test func foreignBytesNeverTrap() {
    var random = SeededRandom(seed: 3)
    for _ in 0..<5000 {
      var bytes = noise(random.below(80), &random)
      // Mostly a known code first, or everything ends at once.
      if !bytes.isEmpty, !random.oneIn(4) { bytes[0] = UInt8(1 + random.below(9)) }
      _ = bytes.withUnsafeBytes { Self.operations($0) }
      var header = noise(64, &random)
      header.replaceSubrange(0..<4, with: [0x51, 0x55, 0x52, 0x31])
      _ = header.withUnsafeBytes { $0.baseAddress.flatMap { LogRecordHeader.decode($0, seed: 1) } }
      _ = MetaPage.decode(noise(512, &random), slot: 0)
    }
  }

  @Test func metaPagesComeBackAndEveryFlipIsFound() {
    var page = MetaPage(pageSize: 4096, databaseID: DatabaseID(high: 1, low: 2))
    page.checkpointNumber = 9
    page.csn = CSN(40)
    page.loggedCSN = CSN(39)
    page.pageCount = 1000
    page.catalog = PageRoot(number: PageNumber(17), checksum: 5, level: 1)
    page.freeMap = PageRoot(number: PageNumber(18), checksum: 6, level: 0)
    page.treeCount = 3
    page.nextTreeID = 12
    page.segments = [
      SegmentDescriptor(number: 4, salt: 8, byteCount: 65536, firstLSN: LSN(1 << 20), fileIndex: 1),
      SegmentDescriptor(number: 5, salt: 9, byteCount: 65536, firstLSN: LSN(1 << 20 + 65536), fileIndex: 0),
    ]
    page.logOffset = 4096
    page.lsn = LSN(1 << 20 + 4096)
    let bytes = page.encoded(slot: 0)
    #expect(MetaPage.decode(bytes, slot: 0) == .valid(page))
    #expect(MetaPage.decode(bytes, slot: 1) != .valid(page), "a copy in the other slot is not a second witness")
    for bit in 0..<bytes.count * 8 {
      var flipped = bytes
      flipped[bit / 8] ^= 1 << UInt8(bit % 8)
      switch MetaPage.decode(flipped, slot: 0) {
      case .valid: Issue.record("bit \(bit) can be flipped")
      default: continue
      }
    }
    // With the checksum made right again, anything may come out but a trap.
    var random = SeededRandom(seed: 4)
    for _ in 0..<3000 {
      var forged = bytes
      for _ in 0...random.below(4) { forged[16 + random.below(320)] = UInt8(truncatingIfNeeded: random.next() >> 40) }
      let checksum = forged.withUnsafeBytes { buffer in
        buffer.baseAddress.map { XXH3.hash($0 + 16, count: 496, seed: MetaPage.magic) } ?? 0
      }
      for byte in 0..<8 { forged[8 + byte] = UInt8(truncatingIfNeeded: checksum >> (8 * UInt64(byte))) }
      _ = MetaPage.decode(forged, slot: 0)
    }
  }
}
