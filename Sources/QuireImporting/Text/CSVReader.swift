// Records of comma-separated values (RFC 4180), with a bound on what is kept of one.

/// Takes a stream of bytes apart into records of fields.
///
/// Fields in quotes may have commas, line ends and doubled quotes. Lines end with LF, CRLF or the end of the text, and
/// one that is empty is no record. What breaks these rules ends where its record does, so that the next one is found.
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
  /// Whether a line without anything on it is no record.
  var passesOverEmptyLines = true
  /// The most fields of a record. Of one that has more they are counted, and not kept: a field takes more memory than a
  /// separator.
  var fieldLimit = CSVReader.mostNames
  /// What a message says of it behind the number of fields.
  var fieldLimitReason = "of which the first line may name \(CSVReader.mostNames)"

  /// The most names of a first line.
  static let mostNames = 1 << 16

  private static let chunkByteCount = 1 << 18
  private static let byteOrderMark: [UInt8] = [0xef, 0xbb, 0xbf]

  /// Records of up to `limit` bytes; `read` returns some of the bytes that follow, and none at the end.
  init(separator: UInt8, limit: Int, read: @escaping (Int) throws -> [UInt8]) {
    (self.separator, self.limit, self.read) = (separator, limit, read)
  }

  /// The next record; nil behind the last one.
  ///
  /// - Parameter endsAtLimit: whether a record that is too long is told at once, and what follows cannot be read.
  /// - Throws: what `read` throws.
  mutating func next(endsAtLimit: Bool = false) throws -> Record? {
    while true {
      guard let record = try record(endsAtLimit) else { return nil }
      if passesOverEmptyLines, record == .fields([Field()]) { continue }
      return record
    }
  }

  private mutating func record(_ endsAtLimit: Bool) throws -> Record? {
    var fields: [Field] = []
    var field = Field()
    var place = Place.fieldStart
    // What is wrong first. The rest is read all the same, to where the record ends, and not kept.
    var reason: String?
    var (byteCount, fieldCount) = (0, 1)
    recordLine = line
    var isKept: Bool { reason == nil && fieldCount <= fieldLimit }
    func told() -> Record {
      if let reason { return .bad(reason) }
      if !isKept { return .bad("It has \(fieldCount) fields, \(fieldLimitReason).") }
      return .fields(fields + [field])
    }
    func keep(_ byte: UInt8) { if isKept { field.bytes.append(byte) } }
    while let byte = try nextByte() {
      byteCount += 1
      if byteCount > limit, reason == nil {
        reason = "It has more than \(limit) bytes."
        (fields, field) = ([], Field())
        if endsAtLimit { return told() }
      }
      switch (place, byte) {
      case (.quoted, UInt8(ascii: "\"")): place = .behindQuote
      case (.quoted, _):
        if byte == UInt8(ascii: "\n") { line += 1 }
        keep(byte)
      case (.behindQuote, UInt8(ascii: "\"")):
        keep(byte)
        place = .quoted
      case (_, separator):
        fieldCount += 1
        if isKept { fields.append(field) } else { fields = [] }
        (field, place) = (Field(), .fieldStart)
      case (_, UInt8(ascii: "\n")):
        line += 1
        return told()
      case (_, UInt8(ascii: "\r")):
        // The first half of the line's end; alone it ends a line, too, as it did on old Macs.
        if try peek() == UInt8(ascii: "\n") { continue }
        line += 1
        return told()
      case (.fieldStart, UInt8(ascii: "\"")): (field.isQuoted, place) = (true, .quoted)
      case (.behindQuote, _):
        reason = reason ?? "Behind the closing quote of a field stands something else than a separator."
        place = .plain
      case (_, UInt8(ascii: "\"")):
        reason = reason ?? "There is a quote within a field that does not begin with one."
      default:
        keep(byte)
        place = .plain
      }
    }
    if place == .quoted {
      reason = reason ?? "Its last quote is not closed: the text is cut off, or a quote is missing."
    }
    return byteCount == 0 ? nil : told()
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
