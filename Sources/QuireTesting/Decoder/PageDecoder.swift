// Pages of trees and of the free map, as the format document describes them.

/// Reads everything that a meta page names in the data file.
struct PageDecoder {
  /// A tree as the catalog has it.
  struct Tree {
    let id: UInt64
    let hasIntegerKeys: Bool
    let name: String
    let root: DecodedMeta.Root
    let count: Int
  }

  /// A key in the form that orders as trees do, and its value.
  typealias Entry = (key: [UInt8], value: [UInt8])

  private static let headerByteCount = 48
  private static let extentBit = 1 << 15
  private static let maximumLevel = 40

  let data: DecoderBytes
  let meta: DecodedMeta
  var liveness = LivenessMap()
  /// Pages that something refers to: each may be referred to once.
  private var reached: Set<Int> = []

  init(_ data: DecoderBytes, _ meta: DecodedMeta) {
    self.data = data
    self.meta = meta
  }

  // MARK: Catalog

  mutating func readCatalog() throws(DecodingFailure) -> [Tree] {
    let entries = try readTree(meta.catalog, id: 0, hasIntegerKeys: true, purpose: .catalog)
    var trees: [Tree] = []
    for entry in entries {
      let cell = DecoderBytes(file: .data, bytes: entry.value)
      guard entry.value.count > 26, let name = String(validating: entry.value[26...], as: UTF8.self) else {
        throw data.failure(meta.catalog.page * meta.pageSize, "the catalog has an entry without a name")
      }
      trees.append(
        Tree(
          id: PageDecoder.integer(entry.key) ^ 1 << 63, hasIntegerKeys: try cell.byte(0) == 1, name: name,
          root: DecodedMeta.Root(page: try cell.number(2), checksum: try cell.word(10), level: Int(try cell.byte(1))),
          count: Int(try cell.word(18) & ~(1 << 63))))
    }
    guard trees.count == meta.treeCount else {
      throw data.failure(0, "the catalog has \(trees.count) trees, and the meta page says \(meta.treeCount)")
    }
    return trees
  }

  private static func integer(_ bigEndian: [UInt8]) -> UInt64 { bigEndian.reduce(0) { $0 << 8 | UInt64($1) } }

  // MARK: Trees

  /// All entries of a tree, in order.
  mutating func readTree(_ tree: Tree) throws(DecodingFailure) -> [Entry] {
    let entries = try readTree(tree.root, id: tree.id, hasIntegerKeys: tree.hasIntegerKeys, purpose: .leaf)
    guard entries.count == tree.count else {
      throw data.failure(
        tree.root.page * meta.pageSize, "tree \(tree.id) has \(entries.count) entries, and should have \(tree.count)")
    }
    return entries
  }

  private mutating func readTree(
    _ root: DecodedMeta.Root, id: UInt64, hasIntegerKeys: Bool, purpose: LivenessMap.Purpose
  ) throws(DecodingFailure) -> [Entry] {
    guard root.page != 0 else { return [] }
    var entries: [Entry] = []
    var left = [root]
    while let next = left.popLast() {
      let offset = try openPage(next, kind: next.level == 0 ? 1 : 2)
      guard try data.word(offset + 24) == id, try data.byte(offset + 34) == (hasIntegerKeys ? 1 : 0) else {
        throw data.failure(offset, "the page is another tree's")
      }
      if next.level == 0 {
        liveness.add(.data, offset, meta.pageSize, purpose)
        try readLeaf(offset, hasIntegerKeys, &entries)
      } else {
        liveness.add(.data, offset, meta.pageSize, purpose == .leaf ? .branch : purpose)
        try pushChildren(offset, hasIntegerKeys, level: next.level, &left)
      }
    }
    for (before, after) in zip(entries, entries.dropFirst()) where !before.key.lexicographicallyPrecedes(after.key) {
      throw data.failure(root.page * meta.pageSize, "the keys of tree \(id) are out of order")
    }
    return entries
  }

  /// Verifies the header of the page that a reference names; returns where it stands.
  private mutating func openPage(_ reference: DecodedMeta.Root, kind: UInt8) throws(DecodingFailure) -> Int {
    let offset = reference.page * meta.pageSize
    guard reference.page >= 2, reference.page < meta.pageCount, reached.insert(reference.page).inserted else {
      throw data.failure(offset, "page \(reference.page) is none of the file's, or is referred to twice")
    }
    let checksum = try data.hash(offset + 8, meta.pageSize - 8, seed: meta.seed)
    guard try data.word(offset) == checksum, checksum == reference.checksum else {
      throw data.failure(offset, "the checksum of page \(reference.page) is not what the reference says")
    }
    guard try data.word(offset + 8) == reference.page, try data.word(offset + 16) <= meta.csn,
      try data.byte(offset + 32) == kind, reference.level < Self.maximumLevel,
      Int(try data.byte(offset + 33)) == reference.level
    else { throw data.failure(offset, "the header of page \(reference.page) does not fit the reference") }
    return offset
  }

  private mutating func readLeaf(
    _ offset: Int, _ hasIntegerKeys: Bool, _ entries: inout [Entry]
  ) throws(DecodingFailure) {
    let count = try data.short(offset + 36)
    let prefix = try commonPrefix(offset)
    let width = hasIntegerKeys ? 8 : 4
    let uniform = Int(try data.byte(offset + 35))
    if uniform != 0 { return try readUniformLeaf(offset, prefix, hasIntegerKeys, keyCount: uniform - 1, &entries) }
    for index in 0..<count {
      let head = offset + Self.headerByteCount + width * index
      let cell = offset + (try data.short(offset + Self.headerByteCount + width * count + 2 * index))
      let (keyCount, field) = (try data.short(cell), try data.short(cell + 2))
      let key: [UInt8]
      if hasIntegerKeys {
        key = try data.slice(head, 8).reversed()
      } else {
        let rest = try data.slice(cell + 4, keyCount)
        let expected = (rest + [0, 0, 0, 0]).prefix(4)
        guard try data.slice(head, 4).reversed() == Array(expected) else {
          throw data.failure(head, "the head of entry \(index) is not the start of its key")
        }
        key = prefix + rest
      }
      let value = cell + 4 + keyCount
      let valueCount = field & ~Self.extentBit
      guard value + valueCount <= offset + meta.pageSize else { throw data.failure(cell, "a cell leaves its page") }
      entries.append(
        (
          key,
          field & Self.extentBit == 0 ? try data.slice(value, valueCount) : try readExtent(value, valueCount)
        ))
    }
  }

  private func readUniformLeaf(
    _ offset: Int, _ prefix: [UInt8], _ hasIntegerKeys: Bool, keyCount: Int, _ entries: inout [Entry]
  ) throws(DecodingFailure) {
    let (count, valueCount) = (try data.short(offset + 36), try data.short(offset + 46))
    let width = hasIntegerKeys ? 8 : 4
    for index in 0..<count {
      let head = [UInt8](try data.slice(offset + Self.headerByteCount + width * index, width).reversed())
      let cell = offset + (try data.short(offset + Self.headerByteCount + width * count + 2 * index))
      guard cell + keyCount + valueCount <= offset + meta.pageSize else {
        throw data.failure(cell, "a cell leaves its page")
      }
      entries.append((prefix + head + (try data.slice(cell, keyCount)), try data.slice(cell + keyCount, valueCount)))
    }
  }

  private func commonPrefix(_ offset: Int) throws(DecodingFailure) -> [UInt8] {
    let count = try data.short(offset + 38)
    return count == 0 ? [] : try data.slice(offset + (try data.short(offset + 40)), count)
  }

  /// The children, the last one first, so that the first is taken next.
  private func pushChildren(
    _ offset: Int, _ hasIntegerKeys: Bool, level: Int, _ left: inout [DecodedMeta.Root]
  ) throws(DecodingFailure) {
    let count = try data.short(offset + 36)
    let heads = ((hasIntegerKeys ? 8 : 4) * count + 7) / 8 * 8
    let references = offset + Self.headerByteCount + heads
    for index in (0..<count).reversed() {
      left.append(
        DecodedMeta.Root(
          page: try data.number(references + 8 * index), checksum: try data.word(references + 8 * (count + index)),
          level: level - 1))
    }
  }

  // MARK: Extents

  private mutating func readExtent(_ cell: Int, _ cellByteCount: Int) throws(DecodingFailure) -> [UInt8] {
    guard cellByteCount == 32 else { throw data.failure(cell, "a reference to an extent has 32 bytes") }
    let count = try data.number(cell)
    let first = try data.number(cell + 8)
    let birth = try data.word(cell + 16)
    let checksum = try data.word(cell + 24)
    guard count >= 1, count <= 1 << 30, first >= 2, birth <= meta.csn else {
      throw data.failure(cell, "the extent is impossible")
    }
    let chunkByteCount = min(65536, 16 * meta.pageSize)
    let chunkCount = (count + chunkByteCount - 1) / chunkByteCount
    let byteCount = count + (chunkCount > 1 ? 8 * chunkCount : 0)
    let start = first * meta.pageSize
    for page in first..<(first + (byteCount + meta.pageSize - 1) / meta.pageSize)
    where page >= meta.pageCount || !reached.insert(page).inserted {
      throw data.failure(cell, "page \(page) of an extent is not in the file, or is referred to twice")
    }
    func seed(_ chunk: Int) -> UInt64 {
      meta.seed ^ UInt64(first) &* 0x9e37_79b9_7f4a_7c15 ^ birth &* 0xc2b2_ae3d_27d4_eb4f
        ^ UInt64(bitPattern: Int64(chunk)) &* 0x1656_67b1_9e37_79f9
    }
    if chunkCount > 1 {
      guard try data.hash(start + count, 8 * chunkCount, seed: seed(-1)) == checksum else {
        throw data.failure(start + count, "the list of an extent's chunks does not verify")
      }
    }
    for chunk in 0..<chunkCount {
      let range = (chunk * chunkByteCount)..<min((chunk + 1) * chunkByteCount, count)
      let expected = chunkCount > 1 ? try data.word(start + count + 8 * chunk) : checksum
      guard try data.hash(start + range.lowerBound, range.count, seed: seed(chunk)) == expected else {
        throw data.failure(start + range.lowerBound, "chunk \(chunk) of an extent does not verify")
      }
    }
    liveness.add(.data, start, byteCount, .extent)
    return try data.slice(start, count)
  }

  // MARK: Free map

  /// The pages that the free map calls free. Also makes sure that none of them is in use, and that every other page is.
  mutating func readFreeMap() throws(DecodingFailure) -> Set<Int> {
    var free: Set<Int> = []
    let bits = (meta.pageSize - Self.headerByteCount) * 8
    let fanOut = (meta.pageSize - Self.headerByteCount) / 16
    var left: [(root: DecodedMeta.Root, piece: Int)] = meta.freeMap.page == 0 ? [] : [(meta.freeMap, 0)]
    while let (root, piece) = left.popLast() {
      let offset = try openPage(root, kind: root.level == 0 ? 3 : 4)
      liveness.add(.data, offset, meta.pageSize, .freeMap)
      if root.level == 0 {
        for (index, byte) in try data.slice(offset + Self.headerByteCount, bits / 8).enumerated() where byte != 0 {
          for bit in 0..<8 where byte & (1 << bit) != 0 { free.insert(piece * bits + 8 * index + bit) }
        }
      } else {
        for child in 0..<fanOut {
          let page = try data.number(offset + Self.headerByteCount + 16 * child)
          if page == 0 { continue }
          let checksum = try data.word(offset + Self.headerByteCount + 16 * child + 8)
          left.append(
            (DecodedMeta.Root(page: page, checksum: checksum, level: root.level - 1), piece * fanOut + child))
        }
      }
    }
    if let wrong = free.first(where: { $0 < 2 || $0 >= meta.pageCount || reached.contains($0) }) {
      throw data.failure(wrong * meta.pageSize, "page \(wrong) is called free, and is in use or not in the file")
    }
    if let lost = (2..<meta.pageCount).first(where: { !free.contains($0) && !reached.contains($0) }) {
      throw data.failure(lost * meta.pageSize, "page \(lost) is neither free nor in use")
    }
    return free
  }
}
