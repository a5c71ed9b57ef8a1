// The trees in memory beside a dictionary.

import QuireDatabase
import QuireTesting
import Testing

@Suite struct MemoryTreeTests {
  private static func key(_ number: Int) -> [UInt8] { [UInt8](String(number).utf8) }

  private func check(_ tree: MemoryTree, _ model: [[UInt8]: [UInt8]], _ seed: UInt64) throws {
    let broken = tree.brokenInvariant()
    #expect(broken == nil, "\(broken ?? "") (seed \(seed))")
    let keys = model.keys.sorted { $0.lexicographicallyPrecedes($1) }
    #expect(tree.count == keys.count, "seed \(seed)")
    for (rank, key) in keys.enumerated() where rank % 7 == 0 {
      #expect(tree.value(for: key) == model[key] && tree.rank(of: key) == rank, "seed \(seed)")
      #expect(tree.entry(at: rank)?.key == key, "seed \(seed)")
    }
    #expect(tree.entry(at: -1) == nil && tree.entry(at: keys.count) == nil)
  }

  @Test(arguments: TestSize.some(1...12 as ClosedRange<UInt64>, of: 4)) func theTreeIsItsModel(_ seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    var tree = MemoryTree()
    var model: [[UInt8]: [UInt8]] = [:]
    var copies: [(MemoryTree, [[UInt8]: [UInt8]])] = []
    let universe = [40, 900, 20_000][random.below(3)]
    for step in 0..<6000 {
      let key = Self.key(random.below(universe))
      switch random.below(20) {
      case 0...(step % 4000 < 2000 ? 12 : 6):
        let value = [UInt8(random.below(256))]
        #expect(tree.put(value, for: key) == (model.updateValue(value, forKey: key) == nil))
      case 19 where random.oneIn(10):
        let upper = Self.key(random.below(universe))
        let gone = model.keys.filter { !$0.lexicographicallyPrecedes(key) && $0.lexicographicallyPrecedes(upper) }
        #expect(tree.removeRange(from: key, upTo: upper) == gone.count)
        for key in gone { model[key] = nil }
      case 18 where random.oneIn(200):
        #expect(tree.removeRange(from: nil, upTo: nil) == model.count)
        model = [:]
      default: #expect(tree.remove(key) == (model.removeValue(forKey: key) != nil))
      }
      if step % 500 == 0 {
        try check(tree, model, seed)
        copies.append((tree, model))
      }
    }
    try check(tree, model, seed)
    // A copy stays what it was.
    for (copy, model) in copies { try check(copy, model, seed) }
  }

  /// The last leaf is joined with the one to its left when both are nearly empty; a copy may have that one as well.
  @Test func aCopyKeepsItsLeavesWhenTheLastOneIsJoined() throws {
    let keys = (0..<65).map { [UInt8($0)] }
    var tree = MemoryTree()
    for key in keys { tree.put(key, for: key) }
    // The first of two leaves: few enough to be joined, and not so few that it is at once.
    for key in keys.prefix(16) { tree.remove(key) }
    var model: [[UInt8]: [UInt8]] = [:]
    for key in keys.dropFirst(16) { model[key] = key }
    let (copy, before) = (tree, model)
    for key in keys.suffix(24).reversed() {
      tree.remove(key)
      model[key] = nil
      try check(tree, model, 0)
      try check(copy, before, 0)
    }
  }
}
