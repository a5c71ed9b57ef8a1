// What is lost is kept in order, by tree, and in bounded memory.

import Testing

@testable import QuireStorage

@Suite struct SalvageLossListTests {
  /// Counts are from the file.
  @Test func countsThatDoNotFitAreNotTold() {
    var list = SalvageLossList()
    let loss = SalvageLoss(
      kind: .range, tree: TreeID(3), page: nil, lower: [1], upper: [2], count: .max, reason: "it is lost")
    for _ in 0..<100_001 { list.add(loss) }
    #expect(list.losses.count == 100_000 && list.losses.last?.count == nil)
    #expect(list.losses.first?.count == .max)
  }

  @Test func lossesAreFoundByTree() {
    var list = SalvageLossList()
    for tree: UInt64 in [3, 3, 5] {
      list.add(
        SalvageLoss(kind: .range, tree: TreeID(tree), page: nil, lower: nil, upper: nil, count: 1, reason: "it is lost")
      )
    }
    #expect(list.losses(of: TreeID(3)).count == 2)
    #expect(list.losses(of: TreeID(5)).map(\.tree) == [TreeID(5)])
    #expect(list.losses(of: TreeID(4)).isEmpty)
  }
}
