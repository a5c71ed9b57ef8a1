// The bytes of a value in the binary form of a row; RowCoding.md tells the whole of it.
//
//     byte 0      bits 7-5 the kind of the value, bits 4-0 its argument: 0...23 itself, 24...31 for an argument in the
//                 1...8 bytes that follow, lowest first
//     0 unsigned  the argument                          4 list      argument = bytes of the elements that follow
//     1 negative  -1 - the argument                     5 record    argument = bytes of the fields that follow
//     2 text      argument = bytes of UTF-8             6 open      0 a record, 1 a list, to the end of the row
//     3 bytes     argument = bytes that follow          7 simple    the argument is a `SimpleValue`
//
//     field       a varint: 0 for a key that follows as a text, else 1 + the number of the name in the schema; a value

/// The kinds of values.
///
/// These numbers are in files: never change one.
enum ValueKind {
  static let unsigned: UInt8 = 0
  static let negative: UInt8 = 1
  static let text: UInt8 = 2
  static let bytes: UInt8 = 3
  static let list: UInt8 = 4
  static let record: UInt8 = 5
  static let open: UInt8 = 6
  static let simple: UInt8 = 7
}

/// The values of kind `simple`, by their argument, with the number of bytes that follow.
///
/// These numbers are in files: never change one.
enum SimpleValue {
  static let absent: UInt64 = 0
  static let no: UInt64 = 1
  static let yes: UInt64 = 2
  static let float: UInt64 = 3
  static let double: UInt64 = 4
  static let uuid: UInt64 = 5
  static let int128: UInt64 = 6
  static let uint128: UInt64 = 7

  /// How many bytes follow the head of simple value `code`; nil if there is no such value.
  @inline(__always) static func byteCount(_ code: UInt64) -> Int? {
    switch code {
    case absent, no, yes: 0
    case float: 4
    case double: 8
    case uuid, int128, uint128: 16
    default: nil
    }
  }
}

/// The arguments of kind `open`.
enum OpenValue {
  static let record: UInt8 = 0
  static let list: UInt8 = 1
}

/// The head of a value that has been read, with bounds that were checked.
struct ValueHead {
  var kind: UInt8
  /// The argument; for `open` values, which become records and lists, 0.
  var argument: UInt64
  /// Where what follows the head begins, and where it and so the value ends.
  var start: Int
  var end: Int

  /// The value nil, nowhere.
  static let absent = ValueHead(kind: ValueKind.simple, argument: SimpleValue.absent, start: 0, end: 0)

  /// Whether the value is nil.
  @inline(__always) var isAbsent: Bool { kind == ValueKind.simple && argument == SimpleValue.absent }

  /// What the value is, for messages.
  var name: String {
    switch kind {
    case ValueKind.unsigned, ValueKind.negative: "an integer"
    case ValueKind.text: "a text"
    case ValueKind.bytes: "bytes"
    case ValueKind.list: "a list"
    case ValueKind.record: "a record"
    default:
      switch argument {
      case SimpleValue.absent: "nil"
      case SimpleValue.no, SimpleValue.yes: "a Boolean"
      case SimpleValue.float: "a Float"
      case SimpleValue.double: "a Double"
      case SimpleValue.uuid: "a UUID"
      default: "an integer of 128 bits"
      }
    }
  }
}

/// One step of a coding path: the name of a field, or the index of an element.
struct PathKey: CodingKey {
  let stringValue: String
  let intValue: Int?

  init(stringValue: String) {
    self.stringValue = stringValue
    intValue = nil
  }

  init(intValue: Int) {
    stringValue = "\(intValue)"
    self.intValue = intValue
  }

  /// The key that `superEncoder()` and `superDecoder()` stand for.
  static let superclass = PathKey(stringValue: "super")
}

/// A step of a coding path in one word, so that keeping the path costs a store.
struct PathStep {
  /// The two upper bits say what the rest is.
  private let word: UInt64

  /// No step: the value of a value that is coded as another one.
  static let none = PathStep(word: 0)
  /// The field with `number`, 1 + the number of its name in the schema.
  @inline(__always) static func field(_ number: UInt32) -> PathStep { PathStep(word: 1 << 62 | UInt64(number)) }
  /// The element with `index`.
  @inline(__always) static func element(_ index: Int) -> PathStep { PathStep(word: 2 << 62 | UInt64(index)) }
  /// The field whose key was written as a text, its head at `offset`.
  @inline(__always) static func inline(_ offset: Int) -> PathStep { PathStep(word: 3 << 62 | UInt64(offset)) }

  private init(word: UInt64) { self.word = word }

  /// The step as a key; `text` returns the text at an offset.
  func key(_ names: FieldNames, _ text: (Int) -> String?) -> PathKey? {
    let rest = Int(word & (1 << 62 - 1))
    switch word >> 62 {
    case 0: return nil
    case 1: return names.name(UInt32(rest)).map(PathKey.init(stringValue:))
    case 2: return PathKey(intValue: rest)
    default: return text(rest).map(PathKey.init(stringValue:))
    }
  }
}
