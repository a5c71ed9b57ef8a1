// Archives that no archiver would write, for tests of those who read them.

package import Foundation

/// A property list that an archive is written as, of parts that no archiver would write.
package indirect enum PropertyListValue {
  case string(String)
  case integer(Int)
  case real(Double)
  case data([UInt8])
  case uid(Int)
  case array([PropertyListValue])
  case dictionary([(String, PropertyListValue)])
  /// Written once, however many hold it.
  case shared(PropertyListValue)

  /// An archive with this table of objects, of which the one at place 1 is the outermost.
  package static func archive(_ table: [PropertyListValue]) -> Data {
    var writer = Writer()
    let top = writer.add(
      .dictionary([
        ("$version", .integer(100_000)), ("$archiver", .string("NSKeyedArchiver")),
        ("$top", .dictionary([("root", .uid(1))])), ("$objects", .array(table)),
      ]))
    return writer.finish(top)
  }

  /// The class of this name, as a table has it.
  package static func type(_ name: String) -> PropertyListValue {
    .dictionary([("$classname", .string(name)), ("$classes", .array([.string(name), .string("NSObject")]))])
  }

  private struct Writer {
    private var objects: [[UInt8]] = []
    private var strings: [String: Int] = [:]
    private var shared: Int?

    private func big(_ number: Int, _ size: Int) -> [UInt8] {
      (0..<size).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }

    private func head(_ kind: UInt8, _ count: Int) -> [UInt8] {
      count < 15 ? [kind << 4 | UInt8(count)] : [kind << 4 | 15, 0x12] + big(count, 4)
    }

    private mutating func append(_ bytes: [UInt8]) -> Int {
      objects.append(bytes)
      return objects.count - 1
    }

    mutating func add(_ value: PropertyListValue) -> Int {
      switch value {
      case .string(let text):
        if let known = strings[text] { return known }
        let number = append(head(5, text.utf8.count) + Array(text.utf8))
        strings[text] = number
        return number
      case .integer(let integer): return append([0x13] + big(integer, 8))
      case .real(let real): return append([0x23] + big(Int(bitPattern: UInt(real.bitPattern)), 8))
      case .data(let bytes): return append(head(4, bytes.count) + bytes)
      case .uid(let uid): return append([0x83] + big(uid, 4))
      case .array(let elements):
        let numbers = elements.map { add($0) }
        return append(head(10, numbers.count) + numbers.flatMap { big($0, 4) })
      case .dictionary(let pairs):
        let (keys, values) = (pairs.map { add(.string($0.0)) }, pairs.map { add($0.1) })
        return append(head(13, keys.count) + (keys + values).flatMap { big($0, 4) })
      case .shared(let value):
        if let shared { return shared }
        let number = add(value)
        shared = number
        return number
      }
    }

    func finish(_ top: Int) -> Data {
      var (bytes, offsets) = (Array("bplist00".utf8), [UInt8]())
      for object in objects {
        offsets += big(bytes.count, 4)
        bytes += object
      }
      let table = bytes.count
      return Data(
        bytes + offsets + [0, 0, 0, 0, 0, 0, 4, 4] + big(objects.count, 8) + big(top, 8) + big(table, 8))
    }
  }
}
