// Values without a type from JSON and to it: with marks for all that JSON lacks, and as the JSON coder stores them.

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

extension RowValue {
  /// The value that a JSON text says, with marks such as `{"$data": "SGVsbG8="}` for what JSON lacks; see ``json``.
  ///
  /// Whole numbers become integers, with all their digits up to the largest `UInt128`; others numbers of double
  /// precision. A record keeps fields of one name as they are, of which a row that is stored has the last.
  ///
  /// - Complexity: O(bytes).
  /// - Throws: ``JSONError`` for what is no JSON, for a mark with another content than its own, and for more than 1,025
  ///   values inside one another, or fewer where the stack of the thread is small. A row takes 512.
  public init(json text: String) throws(JSONError) {
    var text = text
    self = try text.withUTF8 { unsafe Self.read(UnsafeRawBufferPointer($0)) }.get()
  }

  /// The value that the bytes of a JSON text say, as ``init(json:)-(String)``.
  public init(json bytes: [UInt8]) throws(JSONError) {
    self = try unsafe bytes.withUnsafeBytes { unsafe Self.read($0) }.get()
  }

  /// The value of one line of an export: as `init(json:)`, but a record that has a name twice is an error, unless it
  /// is written in turn, as an export has it: of what another program writes so one value is lost in silence.
  init(line bytes: [UInt8]) throws(JSONError) {
    self = try unsafe bytes.withUnsafeBytes { unsafe Self.read($0, refusesLosses: true) }.get()
  }

  private static func read(
    _ bytes: UnsafeRawBufferPointer, refusesLosses: Bool = false
  ) -> Result<RowValue, JSONError> {
    var reader = unsafe JSONReader(bytes, hasMarks: true, refusesLosses: refusesLosses)
    return Result { () throws(JSONError) in try reader.document() }
  }

  /// The value as JSON in one line, from which ``init(json:)-(String)`` makes the same value to the bit.
  ///
  /// What JSON lacks is a record of one field that begins with `$`: `{"$int": "…"}` for integers beyond 2⁵³,
  /// `{"$double": "nan"}`, `{"$float": 0.1}`, `{"$data": "…"}` in Base64, `{"$uuid": "…"}`, `{"$date": …}` in seconds
  /// since 2001, `{"$record": {…}}` for a record whose first name begins with `$`, and `{"$record": ["a", 1, "a", 2]}`
  /// for one that has a name twice. Calls itself for each value inside; an app that makes values deeper than the 512 of
  /// rows needs a stack for that.
  ///
  /// - Complexity: O(size).
  public var json: String {
    var writer = JSONWriter()
    writer.append(self)
    return String(decoding: writer.bytes, as: UTF8.self)
  }
}

extension RowValue: CustomStringConvertible {
  /// The value as JSON.
  public var description: String { json }
}

extension RowValue: JSONCoded {
  /// Appends the value as JSON without marks, its fields in their order: what it reads back is the same but for what
  /// JSON has one form for, as numbers of single precision, dates, UUIDs and bytes.
  func appendJSON(to bytes: inout [UInt8]) throws {
    var writer = JSONWriter(hasMarks: false)
    writer.append(self)
    if writer.isTooDeep {
      let message = "More than \(Limits.codingDepth) values are inside one another, or more than the stack holds."
      throw EncodingError.invalidValue(self, .init(codingPath: [], debugDescription: message))
    }
    bytes.append(contentsOf: writer.bytes)
  }

  init(jsonDocument bytes: UnsafeRawBufferPointer) throws {
    var reader = unsafe JSONReader(bytes, hasMarks: false)
    self = try reader.document()
  }
}
