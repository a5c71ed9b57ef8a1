// Archives of index sets, time zones, locales and parts of dates.

import Foundation
import QuireTesting
import Testing
import YapCompat

@Suite struct ArchivedFoundationTests {
  private let reader = YapDatabase.defaultDeserializer(classes: [])

  private func archived(_ object: Any) throws -> Data {
    try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: false)
  }

  private func readBack<Value, Read>(_ object: Value) throws -> Read? {
    try reader("c", "k", archived(object)) as? Read
  }

  @Test func indexSets() throws {
    for set in [IndexSet(), [5], IndexSet(3..<900), [1, 2, 3, 7, 8, 900], [0, 127, 128, 16_383, 16_384, 1 << 40]] {
      let object = NSIndexSet(indexSet: set)
      #expect((try readBack(object) as NSIndexSet?) == object)
      #expect((try readBack(NSMutableIndexSet(indexSet: set)) as NSIndexSet?) == object)
    }
  }

  @Test func placesAndTimes() throws {
    #expect((try readBack(NSLocale(localeIdentifier: "de_DE")) as NSLocale?) == NSLocale(localeIdentifier: "de_DE"))
    for name in ["Europe/Berlin", "GMT", "America/Argentina/Buenos_Aires"] {
      let zone = try #require(NSTimeZone(name: name))
      #expect((try readBack(zone) as NSTimeZone?)?.name == name)
    }
    let parts = NSDateComponents()
    (parts.year, parts.month, parts.day, parts.nanosecond) = (2020, 2, 29, 7)
    parts.timeZone = TimeZone(identifier: "Europe/Berlin")
    let read: NSDateComponents = try #require(try readBack(parts))
    #expect((read.year, read.month, read.day, read.nanosecond) == (2020, 2, 29, 7))
    #expect(read.hour == NSDateComponentUndefined && read.timeZone?.identifier == "Europe/Berlin")
  }

  @Test("No flipped bit ends the process") func flippedBits() throws {
    let zone = try #require(NSTimeZone(name: "Europe/Berlin"))
    let parts = NSDateComponents()
    parts.year = 2020
    let objects: [Any] = [
      NSIndexSet(indexSet: [1, 2, 3, 7, 8, 900]), NSIndexSet(index: 5), NSLocale(localeIdentifier: "de_DE"), parts,
    ]
    for data in try objects.map(archived) { try flip(data, 0..<data.count) }
    // Its rules, which are long, are not looked at.
    let data = try archived(zone)
    try flip(data, 0..<200)
    try flip(data, (data.count - 300)..<data.count)
  }

  private func flip(_ data: Data, _ range: Range<Int>) throws {
    var refused = 0
    // In the short size some bits of each byte.
    for bit in stride(from: range.lowerBound * 8, to: range.upperBound * 8, by: TestSize.isFull ? 1 : 5) {
      var bytes = data
      bytes[bit / 8] ^= 1 << UInt8(bit % 8)
      do { _ = try reader("c", "k", bytes) } catch { refused += 1 }
    }
    #expect(refused > 0)
  }

  @Test("A time zone that is a path is none") func pathsAreNone() throws {
    let zone = try #require(NSTimeZone(name: "Europe/Berlin"))
    let data = try archived(zone)
    let name = try #require(data.range(of: Data("Europe/Berlin".utf8), options: .backwards))
    for path in ["/etc/passwd..", "../../etc/pas"] {
      var forged = data
      forged.replaceSubrange(name, with: Data(path.utf8))
      #expect(throws: (any Error).self) { try reader("c", "k", forged) }
    }
  }
}
