// Pages and long values of a database that may be damaged, each with what is wrong with it.

/// Why something cannot be used, in words for people.
struct SalvageDefect: Error {
  let text: String
  /// Whether a whole page stands there that is not the version that was meant: a write has been lost, and others beside
  /// it may have been.
  let isOtherVersion: Bool

  init(_ text: String, isOtherVersion: Bool = false) {
    self.text = text
    self.isOtherVersion = isOtherVersion
  }
}

/// Reads pages and long values of one data file, past all caches.
final class SalvagePages {
  /// Knows file, page size and seed; `pageCount` is what references are held against, and the file may be shorter.
  let store: PageStore
  /// How many pages the file has in full.
  let fileLimit: UInt64
  /// Whether the seed of the checksums is known.
  let isSeeded: Bool
  let believesUnverified: Bool
  private var claims: SalvageClaims
  private var valueBuffer = UnsafeMutableRawBufferPointer(start: nil, count: 0)

  init(_ store: PageStore, fileLimit: UInt64, isSeeded: Bool, believesUnverified: Bool) {
    self.store = store
    self.fileLimit = fileLimit
    self.isSeeded = isSeeded
    self.believesUnverified = believesUnverified
    claims = SalvageClaims(fileLimit: fileLimit)
  }

  deinit { valueBuffer.deallocate() }

  var pageSize: Int { store.pageSize }

  /// Memory for one page, which the caller gives back.
  func makeBuffer() -> PageBytes {
    PageBytes(UnsafeMutableRawPointer.allocate(byteCount: pageSize, alignment: 16))
  }

  /// Reads a page of a tree; its numbers then lead no search outside it.
  ///
  /// - Parameter checksum: what refers to it says; nil if nothing does.
  /// - Returns: whether it is proven. Without proof it is returned only if that may be believed.
  func load(_ number: UInt64, checksum: UInt64?, into page: PageBytes) throws(SalvageDefect) -> Bool {
    guard number >= 2, number < fileLimit else { throw SalvageDefect("the file does not have page \(number)") }
    do throws(StorageError) {
      try store.file.readFully(
        into: UnsafeMutableRawBufferPointer(start: page.base, count: pageSize), at: Int(number) * pageSize)
    } catch {
      throw SalvageDefect("page \(number) cannot be read")
    }
    guard page.pageNumber == number else { throw SalvageDefect("page \(number) holds no page that belongs there") }
    let defect = proofDefect(page, checksum: checksum)
    if let defect, !believesUnverified {
      throw SalvageDefect("page \(number) is damaged: \(defect.text)", isOtherVersion: defect.isOtherVersion)
    }
    if let broken = PageValidation.defect(in: page, pageSize: pageSize, pageCount: store.pageCount) {
      throw SalvageDefect("page \(number) is damaged: \(broken)")
    }
    return defect == nil
  }

  private func proofDefect(_ page: PageBytes, checksum: UInt64?) -> SalvageDefect? {
    guard isSeeded else { return SalvageDefect("nothing proves it") }
    let actual = PageChecksum.compute(page, pageSize: pageSize, seed: store.checksumSeed)
    guard actual == page.checksum else { return SalvageDefect("its checksum does not match") }
    guard let checksum, checksum != actual else { return nil }
    return SalvageDefect("it is not the version that its parent refers to", isOtherVersion: true)
  }

  /// Reads a long value; valid until the next call. All calls together read at most five times what the file has.
  ///
  /// - Parameter extent: from a page that `load` has returned.
  /// - Returns: its bytes, and whether they are proven.
  func value(_ extent: ExtentReference) throws(SalvageDefect) -> (bytes: UnsafeRawBufferPointer, isProven: Bool) {
    // Nothing is allocated for what the file is too short to have.
    if let defect = extent.defect(pageSize: pageSize, pageCount: min(fileLimit, store.pageCount)) {
      throw SalvageDefect("a long value cannot be read: \(defect)")
    }
    guard claims.take(extent.first, count: extent.layout(pageSize: pageSize).pageCount) else {
      throw SalvageDefect(
        "a long value from \(extent.first) on is not read again: too many entries name pages that others name")
    }
    let count = extent.valueByteCount
    if valueBuffer.count < count {
      valueBuffer.deallocate()
      valueBuffer = .allocate(byteCount: count, alignment: 16)
    }
    guard let base = valueBuffer.baseAddress else { throw SalvageDefect("a long value has no bytes") }
    let bytes = UnsafeRawBufferPointer(start: base, count: count)
    do throws(StorageError) {
      guard isSeeded else { throw StorageError(.damagedPage, "Nothing proves the value.") }
      try store.readExtent(extent, 0..<count, into: base)
      return (bytes, true)
    } catch {
      let place = error.page ?? extent.first
      guard believesUnverified else {
        throw SalvageDefect("a value of \(count) bytes from \(extent.first) on is damaged at \(place)")
      }
    }
    do throws(StorageError) {
      try store.file.readFully(
        into: UnsafeMutableRawBufferPointer(start: base, count: count), at: Int(extent.first.rawValue) * pageSize)
      return (bytes, false)
    } catch {
      throw SalvageDefect("a value of \(count) bytes from \(extent.first) on cannot be read")
    }
  }
}

/// Keys as salvage compares and reports them: bytes, and integers as the eight bytes of their ordered form.
enum SalvageKey {
  static func bytes(_ key: SplitKey, _ kind: KeyKind) -> [UInt8] {
    kind == .int64 ? bytes(ordered: key.integer) : key.bytes
  }

  static func bytes(ordered integer: UInt64) -> [UInt8] {
    withUnsafeBytes(of: integer.bigEndian) { Array($0) }
  }

  /// Negative, zero or positive as `left` orders before, with or after `right`.
  static func compare(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
    guard let leftBase = left.baseAddress, let rightBase = right.baseAddress else { return left.count - right.count }
    return KeyOrder.compare(leftBase, left.count, rightBase, right.count)
  }

  static func compare(_ left: [UInt8], _ right: [UInt8]) -> Int {
    left.withUnsafeBytes { left in right.withUnsafeBytes { compare(left, $0) } }
  }

  /// What is above `key` and below all keys that are.
  static func successor(_ key: [UInt8], _ kind: KeyKind) -> [UInt8]? {
    guard kind == .int64 else { return key + [0] }
    let integer = key.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return integer == .max ? nil : bytes(ordered: integer + 1)
  }
}
