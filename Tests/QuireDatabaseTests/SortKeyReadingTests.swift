// Sort keys read back from their bytes: the value that they were made of, and nothing out of bytes of no value.

import Foundation
import QuireDatabase
import Testing

@Suite struct SortKeyReadingTests {
  /// Reads values back, and none out of bytes that are one too few.
  private func check<Key: SortKey & Equatable>(_ keys: [Key]) {
    for key in keys {
      let bytes = key.sortBytes
      #expect(Key.fromSortBytes(bytes) == key)
      #expect(Key.fromSortBytes(bytes.dropLast()) == nil, "\(key) without its last byte")
      #expect(Key?.fromSortBytes(Key?.some(key).sortBytes) == .some(.some(key)))
    }
    #expect(Key?.fromSortBytes([0]) == .some(.none) && Key?.fromSortBytes([]) == nil && Key?.fromSortBytes([2]) == nil)
  }

  private enum Size: String, SortKey { case large, small }

  @Test func valuesComeBack() {
    check([Int.min, -1, 0, 1, .max])
    check([Int64.min, 7, .max])
    check([Int32.min, 7, .max])
    check([Int16.min, -256, 7, .max])
    check([Int8.min, -1, 0, .max])
    check([UInt.min, .max])
    check([UInt64.min, 7])
    check([UInt32.min, .max])
    check([UInt16.min, 256])
    check([UInt8.min, 7, .max])
    check([false, true])
    check([-Double.infinity, -1.5, 0, 1e-300, .infinity])
    check([Float(-2.5), 0, 3])
    check(["", "a", "a\0b", "é"])
    check([[], [0], [0, 255], [1, 0, 0, 2]] as [[UInt8]])
    check([Date(timeIntervalSinceReferenceDate: -0.5), Date(timeIntervalSinceReferenceDate: 7e8)])
    check([Data(), Data([0, 1])])
    check([UUID()])
    check([Size.large, .small])
  }

  @Test func whatIsEqualComesBackAsOneOfThem() {
    #expect(Double.fromSortBytes((-0.0).sortBytes) == 0)
    #expect(Double.fromSortBytes(Double.nan.sortBytes)?.isNaN == true)
    #expect(Date.unorderedBytes == Double.nan.sortBytes && Float.unorderedBytes == Double.nan.sortBytes)
    #expect(Size.unorderedBytes == nil && Decimal.unorderedBytes == Decimal.nan.sortBytes)
    #expect(Decimal.fromSortBytes(Decimal(7).sortBytes) == nil)
  }

  @Test("Bytes that no value has are none")
  func bytesOfNoValue() {
    #expect(Bool.fromSortBytes([2]) == nil && Bool.fromSortBytes([0, 0]) == nil)
    #expect(Size.fromSortBytes("huge".sortBytes) == nil)
    // Not UTF-8, no end, and a zero byte without its companion.
    #expect(String.fromSortBytes([0xff, 0, 0]) == nil && [UInt8].fromSortBytes([0xff, 0, 0]) == [0xff])
    #expect(String.fromSortBytes([0x61, 0]) == nil && String.fromSortBytes([0]) == nil)
    #expect([UInt8].fromSortBytes([0, 1, 0, 0]) == nil && Data.fromSortBytes([0, 1, 0, 0]) == nil)
  }
}
