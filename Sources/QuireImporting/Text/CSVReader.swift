// Records of comma-separated values (RFC 4180), with a bound on what is kept of one.

/// Takes a stream of bytes apart into records of fields.
///
/// Fields in quotes may have commas, line ends and doubled quotes. Lines end with LF, CRLF or the end of the text, and
/// one that is empty is no record. What breaks these rules ends with its line, so that the next record is found.
struct CSVReader {
  /// A field: its bytes, and whether it stood in quotes.
  struct Field: Hashable {
    var bytes: [UInt8] = []
    var isQuoted = false
  }

  /// A record, or what is wrong with one.
  enum Record: Hashable {
    case fields([Field])
    case bad(String)
  }

  private enum Place {
    case fieldStart, plain, quoted, behindQuote
    /// In a record that is told as bad.
    case passedOver
  }

  private let separator: UInt8
  private let limit: Int
  private let read: (Int) throws -> [UInt8]
  private var buffer: [UInt8] = []
  private var position = 0
  private var isAtEnd = false
  private var isAtBeginning = true
  /// The line that comes next, from 1.
  private var line = 1
  /// The line on which the last record begins.
  private(set) var recordLine = 1

  private static let chunkByteCount = 1 << 18
  private static let byteOrderMark: [UInt8] = [0xef, 0xbb, 0xbf]

  /// Records of up to `limit` bytes; `read` returns some of the bytes that follow, and none at the end.
  init(separator: UInt8, limit: Int, read: @escaping (Int) throws -> [UInt8]) {
    (self.separator, self.limit, self.read) = (separator, limit, read)
  }

  /// The next record; nil behind the last one.
  ///
  /// - Throws: what `read` throws.
  mutating func next() throws -> Record? {
    while true {
      guard let record = try record() else { return nil }
      // A line without anything on it.
      if record == .fields([Field()]) { continue }
      return record
    }
  }

  private mutating func record() throws -> Record? {
    var fields: [Field] = []
    var field = Field()
    var place = Place.fieldStart
    var reason = ""
    var byteCount = 0
    recordLine = line
    func fail(_ text: String) { (place, reason) = (.passedOver, text) }
    while let byte = try nextByte() {
      byteCount += 1
      if byte == UInt8(ascii: "\n") { line += 1 }
      if byteCount > limit, place != .passedOver {
        (fields, field) = ([], Field())
        fail("It has more than \(limit) bytes.")
      }
      switch (place, byte) {
      case (.quoted, UInt8(ascii: "\"")): place = .behindQuote
      case (.quoted, _): field.bytes.append(byte)
      case (.passedOver, UInt8(ascii: "\n")): return .bad(reason)
      case (.passedOver, _): break
      case (.behindQuote, UInt8(ascii: "\"")):
        field.bytes.append(byte)
        place = .quoted
      case (_, separator):
        fields.append(field)
        (field, place) = (Field(), .fieldStart)
      case (_, UInt8(ascii: "\n")): return .fields(fields + [field])
      case (_, UInt8(ascii: "\r")):
        // The first half of the line's end; alone it ends a line, too, as it did on old Macs.
        if try peek() == UInt8(ascii: "\n") { continue }
        return .fields(fields + [field])
      case (.fieldStart, UInt8(ascii: "\"")): (field.isQuoted, place) = (true, .quoted)
      case (.behindQuote, _): fail("Behind the closing quote of a field stands something else than a separator.")
      case (_, UInt8(ascii: "\"")): fail("There is a quote within a field that does not begin with one.")
      default:
        field.bytes.append(byte)
        place = .plain
      }
    }
    switch place {
    case .passedOver: return .bad(reason)
    case .quoted: return .bad("Its last quote is not closed: the text is cut off, or a quote is missing.")
    default: return byteCount == 0 ? nil : .fields(fields + [field])
    }
  }

  private mutating func nextByte() throws -> UInt8? {
    guard let byte = try peek() else { return nil }
    position += 1
    return byte
  }

  private mutating func peek() throws -> UInt8? {
    if position < buffer.count { return buffer[position] }
    guard !isAtEnd else { return nil }
    (buffer, position) = (try read(Self.chunkByteCount), 0)
    if isAtBeginning {
      while buffer.count < Self.byteOrderMark.count {
        let more = try read(Self.chunkByteCount)
        if more.isEmpty { break }
        buffer += more
      }
      if buffer.starts(with: Self.byteOrderMark) { position = Self.byteOrderMark.count }
      isAtBeginning = false
    }
    isAtEnd = buffer.isEmpty
    return position < buffer.count ? buffer[position] : nil
  }
}
