// Damage with valid checksums: changes a data file at will and then makes every checksum right again.

package import QuireStorage

/// Forges data files.
///
/// Works on bytes and trusts none of them, so that it can seal whatever the mutations have made: checksums are set
/// from the leaves up, along the references that lead anywhere.
package struct Forger {
  package var bytes: [UInt8]
  package let meta: MetaPage
  private var sealed: Set<Int> = []

  /// The size of pages, in bytes.
  package var pageSize: Int { meta.pageSize }
  /// How many pages the file has.
  package var pageCount: Int { bytes.count / pageSize }

  /// Starts from a file whose newest meta page verifies.
  package init?(_ bytes: [UInt8], pageSize: Int) {
    var best: MetaPage?
    for slot in 0..<2 {
      let page = MetaPage.decode(Array(bytes[(slot * pageSize)..<(slot * pageSize + MetaPage.byteCount)]), slot: slot)
      if case .valid(let page) = page, page.checkpointNumber > best?.checkpointNumber ?? 0 { best = page }
    }
    guard let best else { return nil }
    self.bytes = bytes
    meta = best
  }

  // MARK: Fields

  /// The eight bytes at an offset of the file; 0 outside it.
  package func word(_ offset: Int) -> UInt64 {
    guard offset >= 0, offset + 8 <= bytes.count else { return 0 }
    return bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
  }

  /// The two bytes at an offset of the file; 0 outside it.
  package func half(_ offset: Int) -> Int {
    guard offset >= 0, offset + 2 <= bytes.count else { return 0 }
    return Int(bytes[offset]) | Int(bytes[offset + 1]) << 8
  }

  /// Puts eight bytes at an offset of the file.
  package mutating func put(_ value: UInt64, at offset: Int) {
    guard offset >= 0, offset + 8 <= bytes.count else { return }
    bytes.withUnsafeMutableBytes { $0.storeBytes(of: value, toByteOffset: offset, as: UInt64.self) }
  }

  /// Puts two bytes at an offset of the file.
  package mutating func putHalf(_ value: Int, at offset: Int) {
    guard offset >= 0, offset + 2 <= bytes.count else { return }
    bytes[offset] = UInt8(truncatingIfNeeded: value)
    bytes[offset + 1] = UInt8(truncatingIfNeeded: value >> 8)
  }

  /// The offset of a page in the file.
  package func base(_ page: Int) -> Int { page * pageSize }
  /// The kind of a page, as it says.
  package func kind(_ page: Int) -> UInt8 { bytes[base(page) + PageLayout.kindOffset] }
  /// The tree of a page, as it says.
  package func treeID(_ page: Int) -> UInt64 { word(base(page) + PageLayout.treeIDOffset) }
  /// How many entries a page has, as it says.
  package func count(_ page: Int) -> Int { half(base(page) + PageLayout.countOffset) }
  private func headWidth(_ page: Int) -> Int { bytes[base(page) + PageLayout.keyKindOffset] == 1 ? 8 : 4 }

  /// Where the references of a branch start; checksums, counts and slots follow in arrays of `count`.
  package func referencesOffset(_ page: Int) -> Int {
    base(page) + PageLayout.headerByteCount + (headWidth(page) * count(page) + 7) & ~7
  }
  /// Where the slots of a page start.
  package func slotsOffset(_ page: Int) -> Int {
    kind(page) == PageKind.leaf.rawValue
      ? base(page) + PageLayout.headerByteCount + headWidth(page) * count(page)
      : referencesOffset(page) + 24 * count(page)
  }
  /// The offset in the file of cell `index`.
  package func cellOffset(_ page: Int, _ index: Int) -> Int { base(page) + half(slotsOffset(page) + 2 * index) }
  /// Whether a leaf has the lengths of all entries in its header.
  package func isUniform(_ page: Int) -> Bool { bytes[base(page) + PageLayout.uniformKeyOffset] != 0 }
  /// Where the value of the cell at `cell` stands.
  package func valueOffset(_ page: Int, _ cell: Int) -> Int {
    let uniform = Int(bytes[base(page) + PageLayout.uniformKeyOffset])
    return uniform == 0 ? cell + PageLayout.leafCellHeader + half(cell) : cell + uniform - 1
  }

  // MARK: Sealing

  /// Makes all checksums right that lead from the newest meta page anywhere.
  package mutating func seal() {
    sealed = []
    var meta = meta
    if let root = place(meta.catalog.number.rawValue) { meta.catalog.checksum = sealPage(root, depth: 0) }
    if let root = place(meta.freeMap.number.rawValue) { meta.freeMap.checksum = sealPage(root, depth: 0) }
    seal(meta)
  }

  /// Puts a meta page into both slots, the second one newer, as a clean close does.
  package mutating func seal(_ page: MetaPage) {
    var page = page
    for slot in 0..<2 {
      bytes.replaceSubrange((slot * pageSize)..<(slot * pageSize + MetaPage.byteCount), with: page.encoded(slot: slot))
      page.checkpointNumber &+= 1
    }
  }

  private func place(_ number: UInt64) -> Int? { number >= 2 && number < UInt64(pageCount) ? Int(number) : nil }

  private mutating func sealPage(_ page: Int, depth: Int) -> UInt64 {
    let start = base(page)
    guard depth < 48, sealed.insert(page).inserted else { return word(start) }
    switch PageKind(rawValue: kind(page)) {
    case .branch:
      let references = referencesOffset(page)
      let count = count(page)
      for index in 0..<count {
        if references + 8 * (count + index) + 8 > start + pageSize { break }
        if let child = place(word(references + 8 * index)) {
          put(sealPage(child, depth: depth + 1), at: references + 8 * (count + index))
        }
      }
    case .freeMapBranch:
      for offset in stride(from: start + 48, to: start + pageSize - 15, by: 16) {
        if let child = place(word(offset)) { put(sealPage(child, depth: depth + 1), at: offset + 8) }
      }
    case .leaf where treeID(page) == 0:
      for index in 0..<count(page) {
        let cell = cellOffset(page, index)
        let value = valueOffset(page, cell)
        if value + 18 > start + pageSize { continue }
        if let child = place(word(value + 2)) { put(sealPage(child, depth: depth + 1), at: value + 10) }
      }
    default: break
    }
    put(UInt64(page), at: start + PageLayout.pageNumberOffset)
    let seed = meta.databaseID.checksumSeed
    let checksum = bytes.withUnsafeBytes { buffer in
      buffer.baseAddress.map { XXH3.hash($0 + start + 8, count: pageSize - 8, seed: seed) } ?? 0
    }
    put(checksum, at: start)
    return checksum
  }

  // MARK: Mutations

  /// A number that is likely to hurt.
  package static func wildHalf(_ random: inout SeededRandom, pageSize: Int) -> Int {
    switch random.below(8) {
    case 0: 0
    case 1: 1
    case 2: 0xffff
    case 3: pageSize
    case 4: pageSize - 1 - random.below(8)
    case 5: PageLayout.headerByteCount + random.below(64)
    case 6: random.below(pageSize)
    default: random.below(0x10000)
    }
  }

  /// A reference that is likely to hurt: another page, a meta page, beyond the end, a frame, anything.
  package func wildReference(_ random: inout SeededRandom, of page: Int) -> UInt64 {
    switch random.below(8) {
    case 0: UInt64(page)
    case 1: UInt64(random.below(2))
    case 2: UInt64(pageCount + random.below(3))
    case 3: 1 << 63 | UInt64(random.below(4))
    case 4: random.next()
    case 5: 1 << 36
    default: UInt64(2 + random.below(pageCount - 2))
    }
  }

  /// Changes one thing about one page; returns what.
  package mutating func mutate(_ random: inout SeededRandom) -> String {
    let page = 2 + random.below(pageCount - 2)
    let start = base(page)
    let count = max(1, count(page))
    let index = random.below(count)
    let isBranch = kind(page) == PageKind.branch.rawValue
    switch random.below(14) {
    case 0:
      let fields = [
        PageLayout.countOffset, PageLayout.prefixCountOffset, PageLayout.prefixOffsetOffset,
        PageLayout.cellStartOffset, PageLayout.garbageOffset,
      ]
      let field = fields[random.below(fields.count)]
      putHalf(Self.wildHalf(&random, pageSize: pageSize), at: start + field)
      return "page \(page): header field at \(field)"
    case 1:
      let offset = [PageLayout.kindOffset, PageLayout.levelOffset, PageLayout.keyKindOffset][random.below(3)]
      bytes[start + offset] = UInt8(random.below(random.oneIn(2) ? 5 : 256))
      return "page \(page): kind, level or kind of keys at \(offset)"
    case 2, 3, 4:
      guard isBranch else { return mutateLeaf(page, index, &random) }
      let references = referencesOffset(page)
      switch random.below(3) {
      case 0: put(wildReference(&random, of: page), at: references + 8 * index)
      case 1: put(random.oneIn(2) ? random.next() : UInt64(random.below(50)), at: references + 8 * (2 * count + index))
      default:
        // A sibling's subtree twice.
        put(word(references + 8 * random.below(count)), at: references + 8 * index)
      }
      return "page \(page): reference or count \(index)"
    case 5:
      putHalf(Self.wildHalf(&random, pageSize: pageSize), at: slotsOffset(page) + 2 * index)
      return "page \(page): slot \(index)"
    case 6:
      let other = random.below(count)
      let (a, b) = (half(slotsOffset(page) + 2 * index), half(slotsOffset(page) + 2 * other))
      putHalf(a, at: slotsOffset(page) + 2 * other)
      putHalf(b, at: slotsOffset(page) + 2 * index)
      return "page \(page): slots \(index) and \(other) exchanged"
    case 7:
      let head = start + PageLayout.headerByteCount + random.below(8 * count)
      // Pages of extents have no headers: what stands there for one may say anything.
      if head < bytes.count { bytes[head] = UInt8(random.below(256)) }
      return "page \(page): heads"
    case 8:
      put(random.oneIn(2) ? random.next() : UInt64(random.below(8)), at: start + PageLayout.birthOffset)
      return "page \(page): birth"
    case 9:
      put(UInt64(random.below(6)), at: start + PageLayout.treeIDOffset)
      return "page \(page): tree id"
    case 10:
      let other = 2 + random.below(pageCount - 2)
      bytes.replaceSubrange(start..<(start + pageSize), with: bytes[base(other)..<(base(other) + pageSize)])
      return "page \(page): copied from \(other)"
    case 11, 12:
      return mutateLeaf(page, index, &random)
    default:
      let offset = start + PageLayout.headerByteCount + random.below(pageSize - PageLayout.headerByteCount)
      bytes[offset] = UInt8(random.below(256))
      return "page \(page): byte \(offset - start)"
    }
  }

  private mutating func mutateLeaf(_ page: Int, _ index: Int, _ random: inout SeededRandom) -> String {
    let cell = cellOffset(page, index)
    if treeID(page) == 0, random.oneIn(2) {
      // The catalog's entry: kind of keys, level, root, count.
      let value = valueOffset(page, cell)
      guard value + 26 < bytes.count else { return "nothing" }
      switch random.below(4) {
      case 0: bytes[value] = UInt8(random.below(3))
      case 1: bytes[value + 1] = UInt8(random.below(random.oneIn(2) ? 4 : 256))
      case 2: put(wildReference(&random, of: page), at: value + 2)
      default: put(random.oneIn(2) ? random.next() : UInt64(random.below(50)), at: value + 18)
      }
      return "page \(page): catalog entry \(index)"
    }
    // A uniform leaf has its lengths in the header; some others are said to be uniform.
    if isUniform(page) || random.oneIn(4) {
      if random.oneIn(2) {
        putHalf(Self.wildHalf(&random, pageSize: pageSize), at: base(page) + PageLayout.uniformValueOffset)
      } else {
        bytes[base(page) + PageLayout.uniformKeyOffset] = UInt8(random.below(random.oneIn(2) ? 30 : 256))
      }
      return "page \(page): lengths of all cells"
    }
    putHalf(Self.wildHalf(&random, pageSize: pageSize), at: cell + 2 * random.below(2))
    return "page \(page): lengths of cell \(index)"
  }
}
