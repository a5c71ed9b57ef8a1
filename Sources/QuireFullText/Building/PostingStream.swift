// Reading the postings that a collector has gathered.
//
// The postings of a term stand one behind the other, in ascending order of rows:
//
//     varint   number of the row, less that of the row before; of the first one the number itself
//     u8       code of the length of the row
//     …        the posting in the form of `RecentCodec`

internal import QuireDatabase

/// Reads postings of a term, whose bytes come in parts that may divide one.
struct PostingStream {
  let form: PostingForm
  private var bytes: [UInt8] = []
  private var offset = 0
  /// The number of the row that was read last; 0 before the first one.
  private var lastRow: UInt64 = 0
  /// Where the posting that was read last lies, without its row.
  private var last = 0..<0
  /// The code of the length of the row that was read last.
  private(set) var lengthCode: UInt8 = 0
  /// Parts are put together until they have so many bytes.
  private static let windowCount = 1 << 13

  init(_ form: PostingForm) { self.form = form }

  /// Forgets what was not read.
  mutating func begin() {
    bytes.removeAll(keepingCapacity: true)
    (offset, lastRow) = (0, 0)
  }

  /// The posting that was read last, without its row.
  var lastBytes: ArraySlice<UInt8> { bytes[last] }

  /// Appends the next posting to a list; false if there is none, or not all of it.
  ///
  /// - Parameter next: the next part; nil behind the last one.
  mutating func read(into list: inout PostingList, _ next: () -> UnsafeRawBufferPointer?) -> Bool {
    while true {
      if offset < bytes.count, readPosting(&list) { return true }
      guard unsafe take(next) else { return false }
    }
  }

  /// Puts more parts behind what was not read; false if there are none.
  private mutating func take(_ next: () -> UnsafeRawBufferPointer?) -> Bool {
    var isMore = false
    bytes.removeSubrange(..<offset)
    offset = 0
    repeat {
      guard let part = unsafe next() else { break }
      unsafe bytes.append(contentsOf: part)
      isMore = true
    } while bytes.count < Self.windowCount
    return isMore
  }

  private mutating func readPosting(_ list: inout PostingList) -> Bool {
    let (frequencyCount, positionCount) = (list.frequencies.count, list.positions.count)
    let read = unsafe bytes.withUnsafeBytes { bytes -> (row: UInt64, code: UInt8, mask: FieldMask, last: Range<Int>)? in
      var reader = unsafe ByteReader(bytes, at: offset)
      guard let gap = reader.varint() else { return nil }
      let start = reader.offset
      guard let code = reader.byte(), let mask = RecentCodec.decode(&reader, form, to: &list) else { return nil }
      return (lastRow &+ gap, code, mask, start..<reader.offset)
    }
    guard let read else {
      list.frequencies.removeSubrange(frequencyCount...)
      list.positions.removeSubrange(positionCount...)
      return false
    }
    (lastRow, lengthCode, last, offset) = (read.row, read.code, read.last, read.last.upperBound)
    list.rowIDs.append(RowID(Int64(bitPattern: lastRow)))
    list.masks.append(read.mask)
    list.frequencyEnds.append(list.frequencies.count)
    if form.hasPositions { list.positionEnds.append(list.positions.count) }
    return true
  }
}
