// What statements are given: numbers, texts, bytes, and arrays of them, in PostgreSQL's binary form.

#if Postgres
  /// One parameter of a statement.
  enum Parameter {
    case integer(Int64)
    case text(String)
    case bytes([UInt8])
    case array(ArrayParameter)

    /// What PostgreSQL numbers its type by.
    var type: UInt32 {
      switch self {
      case .integer: TypeNumber.bigint
      case .text: TypeNumber.text
      case .bytes: TypeNumber.bytea
      case .array(let array): array.kind.arrayType
      }
    }

    /// Its bytes.
    var encoded: [UInt8] {
      switch self {
      case .integer(let value): Network.bytes(value)
      case .text(let text): Array(text.utf8)
      case .bytes(let bytes): bytes
      case .array(let array): array.encoded
      }
    }
  }

  /// The numbers of types, which are the same in every PostgreSQL.
  enum TypeNumber {
    static let bytea: UInt32 = 17
    static let bigint: UInt32 = 20
    static let text: UInt32 = 25
    static let byteaArray: UInt32 = 1001
    static let textArray: UInt32 = 1009
    static let bigintArray: UInt32 = 1016
  }

  /// An array of one dimension, put together element by element.
  struct ArrayParameter {
    enum Kind {
      case bigint, text, bytea

      var elementType: UInt32 {
        switch self {
        case .bigint: TypeNumber.bigint
        case .text: TypeNumber.text
        case .bytea: TypeNumber.bytea
        }
      }

      var arrayType: UInt32 {
        switch self {
        case .bigint: TypeNumber.bigintArray
        case .text: TypeNumber.textArray
        case .bytea: TypeNumber.byteaArray
        }
      }
    }

    let kind: Kind
    private(set) var count = 0
    private var hasNull = false
    private var elements: [UInt8] = []

    init(_ kind: Kind) { self.kind = kind }

    mutating func append(_ value: Int64) {
      Network.append(Int32(8), to: &elements)
      Network.append(value, to: &elements)
      count += 1
    }

    mutating func append(_ text: String?) {
      guard let text else { return appendNull() }
      Network.append(Int32(truncatingIfNeeded: text.utf8.count), to: &elements)
      elements.append(contentsOf: text.utf8)
      count += 1
    }

    mutating func append(_ bytes: [UInt8]?) {
      guard let bytes else { return appendNull() }
      Network.append(Int32(truncatingIfNeeded: bytes.count), to: &elements)
      elements.append(contentsOf: bytes)
      count += 1
    }

    private mutating func appendNull() {
      Network.append(Int32(-1), to: &elements)
      hasNull = true
      count += 1
    }

    /// Dimensions, whether there are nulls, type of elements, count and lowest index, and the elements.
    var encoded: [UInt8] {
      var bytes: [UInt8] = []
      bytes.reserveCapacity(20 + elements.count)
      Network.append(Int32(count == 0 ? 0 : 1), to: &bytes)
      Network.append(Int32(hasNull ? 1 : 0), to: &bytes)
      Network.append(Int32(bitPattern: kind.elementType), to: &bytes)
      guard count > 0 else { return bytes }
      Network.append(Int32(truncatingIfNeeded: count), to: &bytes)
      Network.append(Int32(1), to: &bytes)
      bytes.append(contentsOf: elements)
      return bytes
    }
  }

  /// Numbers with the highest byte first.
  enum Network {
    static func append<Number: FixedWidthInteger>(_ number: Number, to bytes: inout [UInt8]) {
      withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }

    static func bytes<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
      var bytes: [UInt8] = []
      append(number, to: &bytes)
      return bytes
    }
  }

  /// A binary stream of rows for COPY.
  struct CopyStream {
    private(set) var bytes: [UInt8] = Array("PGCOPY\n".utf8) + [0xff, 13, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0]

    mutating func beginRow(fieldCount: Int) { Network.append(Int16(truncatingIfNeeded: fieldCount), to: &bytes) }

    mutating func append(_ value: Int64) {
      Network.append(Int32(8), to: &bytes)
      Network.append(value, to: &bytes)
    }

    mutating func append(_ field: [UInt8]?) {
      guard let field else { return Network.append(Int32(-1), to: &bytes) }
      Network.append(Int32(truncatingIfNeeded: field.count), to: &bytes)
      bytes.append(contentsOf: field)
    }

    mutating func append(_ text: String) {
      Network.append(Int32(truncatingIfNeeded: text.utf8.count), to: &bytes)
      bytes.append(contentsOf: text.utf8)
    }

    /// A field of jsonb, whose form has the version 1.
    mutating func append(json: [UInt8]?) {
      guard let json else { return Network.append(Int32(-1), to: &bytes) }
      Network.append(Int32(truncatingIfNeeded: json.count + 1), to: &bytes)
      bytes.append(1)
      bytes.append(contentsOf: json)
    }

    mutating func end() { Network.append(Int16(-1), to: &bytes) }
  }
#endif
