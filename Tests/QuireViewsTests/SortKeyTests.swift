// Sort keys and order labels against the orders that they stand for.

import Foundation
import QuireDatabase
import QuireTesting
import QuireViews
import Testing

@Suite struct SortKeyTests {
  private func bytes(_ key: some SortKey) -> [UInt8] {
    var bytes: [UInt8] = []
    key.append(to: &bytes)
    return bytes
  }

  private func check<Key: SortKey>(_ keys: [Key], _ isBefore: (Key, Key) -> Bool) {
    for left in keys {
      for right in keys {
        let (first, second) = (bytes(left), bytes(right))
        #expect(first.lexicographicallyPrecedes(second) == isBefore(left, right), "\(left) and \(right)")
        if isBefore(left, right) { #expect(!second.starts(with: first), "\(left) begins \(right)") }
        let (down, downToo) = (bytes(Descending(left)), bytes(Descending(right)))
        #expect(down.lexicographicallyPrecedes(downToo) == isBefore(right, left), "\(left) and \(right), descending")
      }
    }
  }

  @Test func numbersAreInOrder() {
    check([Int.min, -70_000, -256, -1, 0, 1, 255, 256, 70_000, .max], <)
    check([Int8.min, -1, 0, 1, .max], <)
    check([UInt16.min, 1, 255, 256, .max], <)
    check([UInt8.min, 1, .max], <)
    check([false, true]) { !$0 && $1 }
    check([-Double.infinity, -1e300, -1.5, -1e-300, 0, 1e-300, 1.5, 1e300, .infinity], <)
    #expect(bytes(-0.0) == bytes(0.0))
    #expect(bytes(Double.infinity).lexicographicallyPrecedes(bytes(Double.nan)))
    check([Float(-2), 0, 0.5, 3], <)
  }

  @Test func textsAreInTheOrderOfTheirBytes() {
    check(["", "a", "a\0", "a\0b", "a\u{1}", "aa", "b", "\u{e9}", "\u{10ffff}"]) {
      $0.utf8.lexicographicallyPrecedes($1.utf8)
    }
    check([[], [0], [0, 0], [0, 1], [0, 255], [1], [255], [255, 255]] as [[UInt8]]) { $0.lexicographicallyPrecedes($1) }
    check([nil, "", "a"] as [String?]) { ($0 ?? "-") < ($1 ?? "-") && $1 != nil || ($0 == nil && $1 != nil) }
  }

  private enum Size: String, SortKey { case large, small }

  @Test func valuesOfFoundationAreInOrder() {
    check([-1e9, -1, 0, 0.5, 7e8].map { Date(timeIntervalSinceReferenceDate: $0) }, <)
    check([Data(), Data([0]), Data([0, 1]), Data([1]), Data([255])]) { $0.lexicographicallyPrecedes($1) }
    let ids = ["00000000-0000-0000-0000-000000000001", "0A000000-0000-0000-0000-000000000000"].map {
      UUID(uuidString: $0)!
    }
    check(ids) { $0 == ids[0] && $1 == ids[1] }
    check([Size.large, .small]) { $0.rawValue < $1.rawValue }
    let texts = [
      "-1e60", "-120", "-12.5", "-12.05", "-1", "-0.001", "0", "0.0009", "0.001", "0.0011", "1", "9", "10", "12.05",
      "12.5", "1e30",
    ]
    check(texts.compactMap { Decimal(string: $0) }, <)
    #expect(bytes(Decimal(string: "1.500")!) == bytes(Decimal(string: "1.5")!))
    #expect(bytes(Decimal(string: "1e30")!).lexicographicallyPrecedes(bytes(Decimal.nan)))
    #expect(Double.unorderedBytes == bytes(Double.nan) && Decimal?.unorderedBytes == bytes(Decimal?.some(.nan)))
    #expect(Int?.absentBytes == bytes(Int?.none) && Int.absentBytes == nil && Int.unorderedBytes == nil)
  }

  @Test func severalKeysAreInOrderOneAfterTheOther() {
    let (names, numbers) = (["", "a", "a\0", "ab", "b"], [-1, 0, 7])
    for (name, number) in names.flatMap({ name in numbers.map { (name, $0) } }) {
      for (other, otherNumber) in names.flatMap({ name in numbers.map { (name, $0) } }) {
        let isBefore = name == other ? number > otherNumber : name < other
        let left = bytes(SortKeys(name, Descending(number)))
        let right = bytes(SortKeys(other, Descending(otherNumber)))
        #expect(left.lexicographicallyPrecedes(right) == isBefore)
      }
    }
  }
}
