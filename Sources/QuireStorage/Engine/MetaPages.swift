// Reading and writing the two meta pages, and deciding which of them may be overwritten.

/// The meta pages of an open data file.
///
/// Invariants:
/// 1. `current` is the newest meta page, and stands in slot `slot`. One that was found at opening and never proven may
///    have been in the system's cache only, after a failed sync: the cache may let go of it, and then its twin, which
///    leads to the same state, is what the disk has.
/// 2. `nextSlot` is the slot that the next meta page goes to. It is the other one once `current` is known to be
///    durable; before that, it may be `current`'s own, so that its predecessor survives (hazard A6).
package final class MetaPages: @unchecked Sendable {
  // Sendable: safe because it is used by one checkpoint at a time, and by opening and closing, which exclude them.
  private let file: any File
  package private(set) var current: MetaPage
  package private(set) var slot: Int
  package var nextSlot: Int
  /// Whether `current` is known to be durable: written and synced by this process, or marked durable by a log record.
  package var isProven = false
  /// What the other slot held at opening, if it was valid.
  package let predecessor: MetaPage?

  /// Whether the other slot leads to the same trees, so that either of the two pages may be lost.
  package var hasTwin: Bool {
    guard let predecessor else { return false }
    return predecessor.catalog == current.catalog && predecessor.freeMap == current.freeMap
      && predecessor.csn == current.csn
  }

  /// Whether the disk needs no log, whatever of this process's view of it is in the page cache alone.
  ///
  /// A page found here may have been written by a process that was killed before its sync. Its slot on the disk may
  /// then hold an older page that names a log. Two pages in succession that both need none are safe: the earlier one
  /// was synced before the later one was written. With a gap between their numbers, the page in the gap may be what the
  /// disk has.
  package var isSettled: Bool {
    guard current.isComplete else { return false }
    guard let predecessor else { return true }
    return hasTwin && predecessor.isComplete && predecessor.checkpointNumber + 1 == current.checkpointNumber
  }

  private init(file: any File, current: MetaPage, slot: Int, predecessor: MetaPage?) {
    self.file = file
    self.current = current
    self.slot = slot
    self.predecessor = predecessor
    nextSlot = 1 - slot
  }

  /// The meta page of a checkpoint that another engine holds, wherever it stands by now. Nothing is ever written.
  package convenience init(held page: MetaPage, of file: any File) {
    self.init(file: file, current: page, slot: 0, predecessor: nil)
  }

  /// A new database's.
  package static func create(in file: any File, _ meta: MetaPage) throws(StorageError) -> MetaPages {
    let pages = MetaPages(file: file, current: meta, slot: 1, predecessor: nil)
    try pages.store(meta, slot: 0)
    try pages.storeBytes([UInt8](repeating: 0, count: meta.pageSize), at: meta.pageSize)
    pages.slot = 0
    pages.nextSlot = 1
    pages.isProven = true
    return pages
  }

  /// Reads both pages and takes the newer one that verifies.
  ///
  /// - Throws: `notADatabase`, `newerFormat`, `damagedMetaPage`, `truncatedFile`, `inputOutput`.
  package static func open(_ file: any File) throws(StorageError) -> MetaPages {
    let byteCount = try byteCount(of: file)
    let (first, second) = try decodeSlots(of: file)
    switch (first, second) {
    case (.newerFormat(let version), _), (_, .newerFormat(let version)):
      throw StorageError(
        .newerFormat,
        "The file has format \(version); this version reads up to \(MetaPage.formatVersion). Update the program.",
        path: file.path)
    case (.valid(let a), .valid(let b)):
      guard a.databaseID == b.databaseID, a.pageSize == b.pageSize, a.checkpointNumber != b.checkpointNumber else {
        throw damaged(file, "the two contradict each other")
      }
      let isFirst = a.checkpointNumber > b.checkpointNumber
      return try checked(file, isFirst ? a : b, slot: isFirst ? 0 : 1, predecessor: isFirst ? b : a, byteCount)
    case (.valid(let page), _):
      return try checked(file, page, slot: 0, predecessor: nil, byteCount)
    case (_, .valid(let page)):
      return try checked(file, page, slot: 1, predecessor: nil, byteCount)
    case (.notAMetaPage, .notAMetaPage):
      throw StorageError(
        .notADatabase, "This is not a database of ours: no meta page has the magic number. Check the path.",
        path: file.path)
    case (.damaged(let why), _), (_, .damaged(let why)):
      throw damaged(file, why)
    }
  }

  /// What the two slots hold, whatever that is.
  package static func decodeSlots(
    of file: any File
  ) throws(StorageError) -> (first: MetaPage.Decoded, second: MetaPage.Decoded) {
    let first = MetaPage.decode(try read(file, at: 0), slot: 0)
    return (first, try findSecond(file, first: first, byteCount: try byteCount(of: file)))
  }

  private static func byteCount(of file: any File) throws(StorageError) -> Int {
    do throws(SystemError) { return try file.status().byteCount } catch {
      throw StorageError(.inputOutput, "The file cannot be examined.", path: file.path, systemError: error)
    }
  }

  private static func damaged(_ file: any File, _ why: String) -> StorageError {
    StorageError(
      .damagedMetaPage, "The meta pages are damaged: \(why). \(StorageError.restoring)", path: file.path)
  }

  private static func checked(
    _ file: any File, _ page: MetaPage, slot: Int, predecessor: MetaPage?, _ byteCount: Int
  ) throws(StorageError) -> MetaPages {
    let needed = Int(page.pageCount) * page.pageSize
    guard byteCount >= needed else {
      throw StorageError(
        .truncatedFile, "The file has \(byteCount) of \(needed) bytes. \(StorageError.restoring)",
        path: file.path, offset: byteCount)
    }
    return MetaPages(file: file, current: page, slot: slot, predecessor: predecessor)
  }

  /// The second page stands one page into the file. If the first does not verify, its page size is not to be trusted,
  /// so every size is tried.
  private static func findSecond(
    _ file: any File, first: MetaPage.Decoded, byteCount: Int
  ) throws(StorageError) -> MetaPage.Decoded {
    if case .valid(let page) = first {
      return byteCount < 2 * page.pageSize
        ? .notAMetaPage : MetaPage.decode(try read(file, at: page.pageSize), slot: 1)
    }
    var best = MetaPage.Decoded.notAMetaPage
    for size in [512, 1024, 2048] + Limits.pageSizes {
      switch MetaPage.decode(try read(file, at: size), slot: 1) {
      case .valid(let page) where page.pageSize == size: return .valid(page)
      case .newerFormat(let version): best = .newerFormat(version: version)
      case .damaged(let why) where best == .notAMetaPage: best = .damaged(why)
      default: continue
      }
    }
    return best
  }

  /// The 512 bytes at `offset`, or what the file has of them.
  private static func read(_ file: any File, at offset: Int) throws(StorageError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: MetaPage.byteCount)
    let outcome: Result<Int, StorageError> = bytes.withUnsafeMutableBytes { buffer in
      do throws(StorageError) { return .success(try file.readUpTo(buffer, at: offset)) } catch {
        return .failure(error)
      }
    }
    return Array(bytes.prefix(try outcome.get()))
  }

  /// Writes the next meta page and syncs it; everything it refers to is durable already.
  ///
  /// - Throws: `failStop` or what the write failed with. Which of the two pages the disk then holds is unknown: nothing
  ///   may be written from then on.
  package func write(_ page: MetaPage) throws(StorageError) {
    try store(page, slot: nextSlot)
    do throws(SystemError) { try file.synchronize() } catch {
      throw StorageError(synchronizing: error, path: file.path)
    }
    current = page
    slot = nextSlot
    // Durable now: its predecessor may be written over.
    isProven = true
    nextSlot = 1 - slot
  }

  /// Checks the invariants while nothing writes; returns what is broken. Reads both pages.
  package func checkInvariants() -> String? {
    if isProven, nextSlot == slot { return "the newest meta page is to be overwritten" }
    do throws(StorageError) {
      let (first, second) = try Self.decodeSlots(of: file)
      let (own, other) = slot == 0 ? (first, second) : (second, first)
      return holds(current, own, orTwin: other) ? nil : "slot \(slot) does not hold the newest meta page"
    } catch {
      // What the disk does not give cannot be wrong.
      return nil
    }
  }

  /// Whether the disk has a meta page that this process works with in its slot, as `own` says, or, as long as the page
  /// is not proven, its twin in the other one.
  package func holds(_ page: MetaPage, _ own: MetaPage.Decoded, orTwin other: MetaPage.Decoded) -> Bool {
    if own == .valid(page) { return true }
    guard !isProven, hasTwin, let twin = predecessor else { return false }
    return other == .valid(twin)
  }

  private func store(_ page: MetaPage, slot: Int) throws(StorageError) {
    try storeBytes(page.encoded(slot: slot), at: page.offset(inSlot: slot))
  }

  private func storeBytes(_ bytes: [UInt8], at offset: Int) throws(StorageError) {
    let outcome: Result<Void, StorageError> = bytes.withUnsafeBytes { buffer in
      do throws(StorageError) { return .success(try file.writeFully(buffer, at: offset)) } catch {
        return .failure(error)
      }
    }
    try outcome.get()
  }
}
