// The operations in the bodies of log records, as the format document describes them.

/// Reads the operations of one body.
struct OperationReader {
  /// An operation; keys are in the form that orders as trees do.
  enum Operation {
    case put(UInt64, key: [UInt8], value: [UInt8])
    case delete(UInt64, key: [UInt8])
    case deleteRange(UInt64, from: [UInt8]?, to: [UInt8]?)
    case createTree(UInt64, hasIntegerKeys: Bool, name: String)
    case dropTree(UInt64)
    case nextRowID(Int64)
  }

  private let body: [UInt8]
  private var offset = 0

  init(_ body: [UInt8]) { self.body = body }

  /// A failure of the operation that was read last.
  func failure(_ text: String) -> DecodingFailure {
    DecodingFailure(file: .log(0), offset: offset, text: "in a record's body: \(text)")
  }

  /// The next operation; nil at the end.
  mutating func next() throws(DecodingFailure) -> Operation? {
    guard offset < body.count else { return nil }
    let code = body[offset]
    offset += 1
    if code == 7 { return .nextRowID(try zigzag()) }
    let tree = try varint()
    switch code {
    case 1: return .put(tree, key: try bytes(), value: try bytes())
    case 2: return .delete(tree, key: try bytes())
    case 3: return .put(tree, key: try integerKey(), value: try bytes())
    case 4: return .delete(tree, key: try integerKey())
    case 5:
      let kind = try varint()
      guard kind <= 1, let name = String(validating: try bytes(), as: UTF8.self) else {
        throw failure("a tree has no name, or keys of kind \(kind)")
      }
      return .createTree(tree, hasIntegerKeys: kind == 1, name: name)
    case 6: return .dropTree(tree)
    case 8, 9:
      let bounds = try varint()
      guard bounds <= 3 else { throw failure("the bounds of a range are \(bounds)") }
      let lower = bounds & 1 == 0 ? nil : code == 8 ? try bytes() : try integerKey()
      let upper = bounds & 2 == 0 ? nil : code == 8 ? try bytes() : try integerKey()
      return .deleteRange(tree, from: lower, to: upper)
    default: throw failure("there is no operation \(code)")
    }
  }

  private mutating func varint() throws(DecodingFailure) -> UInt64 {
    var value: UInt64 = 0
    for shift in stride(from: UInt64(0), through: 63, by: 7) {
      guard offset < body.count else { throw failure("an integer is cut off") }
      let byte = body[offset]
      offset += 1
      value |= UInt64(byte & 0x7f) << shift
      if byte < 0x80 { return value }
    }
    throw failure("an integer has more than ten bytes")
  }

  private mutating func zigzag() throws(DecodingFailure) -> Int64 {
    let value = try varint()
    return Int64(bitPattern: value >> 1) ^ -Int64(value & 1)
  }

  private mutating func integerKey() throws(DecodingFailure) -> [UInt8] {
    let ordered = UInt64(bitPattern: try zigzag()) ^ 1 << 63
    return withUnsafeBytes(of: ordered.bigEndian) { Array($0) }
  }

  private mutating func bytes() throws(DecodingFailure) -> [UInt8] {
    let count = try varint()
    guard count <= UInt64(body.count - offset) else { throw failure("\(count) bytes are cut off") }
    defer { offset += Int(count) }
    return Array(body[offset..<(offset + Int(count))])
  }
}
