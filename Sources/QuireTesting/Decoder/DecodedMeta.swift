// The meta page, as the format document describes it.

/// What a meta page says.
struct DecodedMeta: Equatable {
  /// A root of the catalog or of the free map.
  struct Root: Equatable {
    let page: Int
    let checksum: UInt64
    let level: Int
  }

  /// A log segment.
  struct Segment: Equatable {
    let number: UInt64
    let salt: UInt64
    let byteCount: Int
    let firstLSN: UInt64
    let fileIndex: Int
  }

  static let byteCount = 512
  private static let magic: UInt64 = 0x0042_4465_7269_7551

  let pageSize: Int
  let identity: [UInt64]
  let checkpoint: UInt64
  let csn: UInt64
  let pageCount: Int
  let catalog: Root
  let treeCount: Int
  let freeMap: Root
  let nextTreeID: UInt64
  let nextRowID: Int64
  let lsn: UInt64
  let chain: UInt64
  let logOffset: Int
  let segments: [Segment]

  /// What seeds the checksums of pages and extents.
  var seed: UInt64 { identity[0] ^ identity[1] &* 0x9e37_79b9_7f4a_7c15 }

  /// The page in a slot, which begins at `offset`; nil if none verifies there.
  init?(_ data: DecoderBytes, at offset: Int, slot: Int) {
    do throws(DecodingFailure) {
      guard try data.word(offset) == Self.magic,
        try data.word(offset + 8) == data.hash(offset + 16, 496, seed: Self.magic + UInt64(slot)),
        (1...2).contains(try data.half(offset + 16))
      else { return nil }
      pageSize = Int(try data.half(offset + 20))
      guard pageSize >= 512, pageSize <= 32768, pageSize & (pageSize - 1) == 0 else { return nil }
      identity = [try data.word(offset + 24), try data.word(offset + 32)]
      checkpoint = try data.word(offset + 40)
      csn = try data.word(offset + 48)
      pageCount = try data.number(offset + 56)
      catalog = try Self.root(data, offset + 64)
      treeCount = try data.number(offset + 88)
      freeMap = try Self.root(data, offset + 96)
      nextTreeID = try data.word(offset + 120)
      nextRowID = Int64(bitPattern: try data.word(offset + 128))
      lsn = try data.word(offset + 144)
      chain = try data.word(offset + 152)
      logOffset = try data.number(offset + 160)
      let count = try data.number(offset + 168)
      guard count <= 4, pageCount >= 2 else { return nil }
      var segments: [Segment] = []
      for index in 0..<count { segments.append(try Self.segment(data, offset + 176 + 40 * index)) }
      self.segments = segments
    } catch {
      return nil
    }
  }

  private static func root(_ data: DecoderBytes, _ offset: Int) throws(DecodingFailure) -> Root {
    Root(page: try data.number(offset), checksum: try data.word(offset + 8), level: try data.number(offset + 16))
  }

  private static func segment(_ data: DecoderBytes, _ offset: Int) throws(DecodingFailure) -> Segment {
    Segment(
      number: try data.word(offset), salt: try data.word(offset + 8), byteCount: try data.number(offset + 16),
      firstLSN: try data.word(offset + 24), fileIndex: try data.number(offset + 32))
  }

  /// The page that counts, and the other one if it verifies, each with its slot.
  static func newest(
    in data: DecoderBytes
  ) throws(DecodingFailure) -> (page: DecodedMeta, slot: Int, other: DecodedMeta?) {
    let first = DecodedMeta(data, at: 0, slot: 0)
    var second: DecodedMeta?
    // Without the first page nobody knows where the second one stands: at its own page size.
    for size in first.map({ [$0.pageSize] }) ?? [512, 1024, 2048, 4096, 8192, 16384, 32768] where second == nil {
      second = DecodedMeta(data, at: size, slot: 1)
      if second?.pageSize != size { second = nil }
    }
    switch (first, second) {
    case (let first?, let second?):
      guard first.identity == second.identity, first.pageSize == second.pageSize, first.checkpoint != second.checkpoint
      else { throw data.failure(0, "the two meta pages contradict each other") }
      return first.checkpoint > second.checkpoint ? (first, 0, second) : (second, 1, first)
    case (let first?, nil): return (first, 0, nil)
    case (nil, let second?): return (second, 1, nil)
    case (nil, nil): throw data.failure(0, "no meta page verifies")
    }
  }
}
