// Leaves on their way out: from memory where they are there, otherwise straight from the file and past the cache.

/// Fetches leaves that are about to be replaced or given up.
///
/// A leaf that is read only to be written anew, or for what it refers to, would take a slot, and a first touch of fresh
/// memory costs more than the read. It goes to a buffer instead, with its neighbours in the file if they are wanted
/// next.
///
/// Invariant: `buffer` holds the pages `first..<first + count` of the file; those in `isChecked` have been verified and
/// have lost their number, the others are as read.
final class LeafSource {
  private let editor: TreeEditor
  private let pageSize: Int
  private let buffer: UnsafeMutableRawBufferPointer
  private var first: UInt64 = 0
  private var count: UInt64 = 0
  private var isChecked: [Bool] = []

  private static let bufferByteCount = 128 << 10

  init(_ editor: TreeEditor) {
    self.editor = editor
    pageSize = editor.pageSize
    buffer = UnsafeMutableRawBufferPointer.allocate(
      byteCount: max(Self.bufferByteCount, editor.pageSize), alignment: 4096)
  }

  deinit { buffer.deallocate() }

  /// Forgets what was read ahead: what the file holds may have changed since.
  func reset() { count = 0 }

  /// Whether a page lies in the buffer, and so in no slot.
  func holds(_ page: PageBytes) -> Bool {
    guard let base = buffer.baseAddress else { return false }
    return page.base >= base && page.base < base + buffer.count
  }

  /// The child `index`, a leaf, of `parent`; good until the next call.
  ///
  /// - Parameter readsAhead: whether its neighbours on the right will be wanted next.
  /// - Throws: `damagedPage`, `truncatedFile`, `inputOutput`.
  func leaf(_ index: Int, of parent: PageBytes, readsAhead: Bool) throws(StorageError) -> PageBytes {
    let reference = PageReference(rawValue: parent.references[index])
    let store = editor.store
    guard !reference.isDirty, reference.rawValue < store.pageCount, !store.isResident(reference.pageNumber) else {
      return try editor.reader.page(reference, checksum: parent.checksums[index], level: 0)
    }
    let number = reference.rawValue
    if number < first || number - first >= count {
      try fill(from: number, readsAhead ? run(at: index, of: parent) : 1)
    }
    let page = PageBytes((buffer.baseAddress.unsafelyUnwrapped) + Int(number - first) * pageSize)
    // A leaf that was left unchanged may be asked for again, without its number.
    if isChecked[Int(number - first)] { return page }
    store.noteRead(1)
    try store.verify(page, PageNumber(number), checksum: parent.checksums[index])
    if let defect = PageValidation.defect(in: page, pageSize: pageSize, pageCount: store.pageCount) {
      throw store.damaged(reference, defect)
    }
    guard page.level == 0 else { throw store.damaged(reference, "its level is \(page.level) where 0 was expected") }
    // As in a page that the store has loaded: it is from disk.
    page.step = 0
    isChecked[Int(number - first)] = true
    return page
  }

  /// How many children from `index` on stand one behind the other in the file, as far as they fit the buffer.
  private func run(at index: Int, of parent: PageBytes) -> UInt64 {
    let limit = min(parent.count - index, buffer.count / pageSize)
    let references = parent.references + index
    var count = 1
    while count < limit, references[count] == references[0] + UInt64(count) { count += 1 }
    return UInt64(count)
  }

  private func fill(from number: UInt64, _ wanted: UInt64) throws(StorageError) {
    count = 0
    let (store, pages) = (editor.store, min(wanted, editor.store.pageCount - number))
    let target = UnsafeMutableRawBufferPointer(rebasing: buffer[..<(Int(pages) * pageSize)])
    do throws(StorageError) { try store.file.readFully(into: target, at: Int(number) * pageSize) } catch {
      throw store.judged(error, reading: number...(number + pages - 1))
    }
    (first, count) = (number, pages)
    isChecked = Array(repeating: false, count: Int(pages))
  }
}
