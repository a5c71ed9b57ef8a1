// The generators give what they promise, and the same for the same seed.

import QuireTesting
import Testing

@Suite struct KeyGeneratorTests {
  @Test(.enabled(if: TestSize.hasSlowTests, "slow"), arguments: KeyUniverse.Shape.allCases, KeyUniverse.usualCounts)
  func universes(shape: KeyUniverse.Shape, count: Int) {
    let universe = KeyUniverse(count: count, shape: shape, maximumLength: 40, seed: 3)
    #expect(universe.keys.count == count)
    let ascends = zip(universe.keys, universe.keys.dropFirst()).allSatisfy { $0.lexicographicallyPrecedes($1) }
    #expect(ascends)
    #expect(universe.keys.allSatisfy { $0.count <= 40 })
    #expect(universe.keys == KeyUniverse(count: count, shape: shape, maximumLength: 40, seed: 3).keys)
    #expect(universe.keys != KeyUniverse(count: count, shape: shape, maximumLength: 40, seed: 4).keys || count == 4)
    switch shape {
    case .mixedLengths:
      #expect(universe.keys.first == [])
      #expect(universe.keys.contains { $0.count == 40 })
      if count > 100 { #expect(Set(universe.keys.map(\.count)).count == 41) }
    case .sharedPrefix: #expect(Set(universe.keys.map { Array($0.prefix(36)) }).count == 1)
    case .integers:
      #expect(universe.keys.first == KeyUniverse.key(.min))
      #expect(universe.keys.last == KeyUniverse.key(.max))
    case .consecutive:
      let numbers = universe.keys.compactMap(KeyUniverse.number)
      #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 + 1 == $1 })
    case .scattered: #expect(universe.keys.allSatisfy { $0.count == 16 })
    }
  }

  @Test func shapesAreDrawn() {
    let shapes = Set((0..<100).map { KeyUniverse(count: 4, seed: $0).shape })
    #expect(shapes.count == KeyUniverse.Shape.allCases.count)
  }

  @Test func integersKeepTheirOrder() {
    let numbers: [Int64] = [.min, .min + 1, -256, -1, 0, 1, 255, 256, .max - 1, .max]
    let keys = numbers.map(KeyUniverse.key)
    #expect(keys.map(KeyUniverse.number) == numbers)
    #expect(zip(keys, keys.dropFirst()).allSatisfy { $0.lexicographicallyPrecedes($1) })
    #expect(KeyUniverse.number([1]) == nil)
  }

  @Test func orders() {
    let universe = KeyUniverse(count: 64, shape: .scattered, seed: 1)
    func picks(_ order: KeyPicker.Order, _ count: Int) -> [Int] {
      var picker = KeyPicker(universe, order: order, seed: 5)
      return (0..<count).map { _ in picker.nextIndex() }
    }
    #expect(picks(.ascending, 130) == (0..<130).map { $0 % 64 })
    #expect(picks(.descending, 65) == (0..<64).reversed() + [63])
    #expect(picks(.sawtooth, 20) == Array(0..<16) + [4, 5, 6, 7])
    #expect(Set(picks(.uniform, 1000)).count == 64)
    #expect(picks(.skewed, 1000).count { $0 < 13 } > 700)
    for order in KeyPicker.Order.allCases {
      #expect(picks(order, 1000).allSatisfy { (0..<64).contains($0) })
      #expect(picks(order, 50) == picks(order, 50))
    }
  }

  @Test func ranges() {
    var picker = KeyPicker(KeyUniverse(count: 64, seed: 1), seed: 5)
    let ranges = (0..<300).map { _ in picker.nextRange() }
    #expect(ranges.contains { $0.lower == nil } && ranges.contains { $0.upper == nil })
    #expect(ranges.contains { $0.lower != nil && $0.lower == $0.upper })
  }

  @Test func values() {
    var generator = ValueGenerator(seed: 1)
    let equal = (0..<500).map { _ in generator.next() }
    #expect(Set(equal).count == 500)
    #expect(equal.allSatisfy { $0.count == 24 })
    generator = ValueGenerator(.mixed(pageByteCount: 512, rare: 9000), seed: 1)
    let lengths = Set((0..<3000).map { _ in generator.next().count })
    #expect(lengths.isSuperset(of: [0, 1, 511, 512, 513, 1024, 1536, 9000]))
    #expect(lengths.allSatisfy { $0 <= 1536 || $0 == 9000 })
    let drawn = (0..<400).map { ValueGenerator(drawingSizesFrom: $0).sizes }
    let mixedCount = drawn.count { sizes in if case .mixed = sizes { true } else { false } }
    #expect(mixedCount > 60 && mixedCount < 140)
    var twins = [ValueGenerator(drawingSizesFrom: 8), ValueGenerator(drawingSizesFrom: 8)]
    let values = [twins[0].next(), twins[1].next()]
    #expect(values[0] == values[1])
  }
}
