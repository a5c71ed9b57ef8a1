// Swift's own types mean in an app that imports Quire what they mean without it.

import Foundation
import Quire
import QuireTesting
import Testing

@Suite struct SwiftNamesTests {
  /// A name without labels, such as `String.init`, stands for all initializers that fit. One more on a type of Swift's,
  /// and this file is not compiled.
  @Test("Initializers that are named without labels are Swift's") func initializers() {
    let id = UUID()
    let ids: [UUID] = [id.uuidString, "x"].compactMap(UUID.init)
    #expect(ids == [id])
    let numbers: [Int] = ["1", "x"].compactMap(Int.init)
    #expect(numbers == [1])
    let small: [UInt8] = ["1", "256"].compactMap(UInt8.init)
    #expect(small == [1])
    let words: [String] = "one two".split(separator: " ").map(String.init)
    #expect(words == ["one", "two"])
    let doubles = ["1.5"].compactMap(Double.init)
    #expect(doubles == [1.5])
  }
}
