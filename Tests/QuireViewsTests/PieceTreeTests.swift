// The counting list beside a plain array.

import QuireTesting
import Testing

@testable import QuireViews

@Suite struct PieceTreeTests {
  /// Rows as numbers: untouched ones from 0, inserted ones below.
  private static func rows(_ pieces: [PieceTree.Piece]) -> [Int] {
    pieces.flatMap { $0.isInserted ? [~$0.start] : Array($0.start..<$0.start + $0.length) }
  }

  @Test(arguments: [0, 1, 2, 40, 3_000]) func isAnArray(count: Int) {
    for seed in 0..<TestSize.trials(4, divisor: 2) {
      var random = SeededRandom(seed: UInt64(seed))
      var tree = PieceTree(count: count)
      var array = Array(0..<count)
      // Phases that mostly grow and mostly shrink, some of them at one place.
      for step in 0..<6_000 {
        let isGrowing = random.oneIn(3) != (step / 1_500).isMultiple(of: 2)
        let limit = (step / 700).isMultiple(of: 3) ? min(array.count, 2) : array.count
        if isGrowing || array.isEmpty {
          let index = random.below(limit + 1)
          tree.insert(step, at: index)
          array.insert(~step, at: index)
        } else {
          let index = random.below(limit)
          #expect(Self.rows([tree.row(at: index)]) == [array[index]], "seed \(seed), step \(step)")
          #expect(Self.rows([tree.remove(at: index)]) == [array.remove(at: index)], "seed \(seed), step \(step)")
        }
        if step.isMultiple(of: 500) {
          tree.checkInvariants()
          #expect(Self.rows(tree.pieces) == array, "seed \(seed), step \(step)")
        }
      }
      tree.checkInvariants()
      #expect(tree.count == array.count)
      #expect(Self.rows(tree.pieces) == array, "seed \(seed)")
      #expect(Self.rows(tree.removeAll()) == array)
      #expect(tree.count == 0 && tree.pieces.isEmpty)
      tree.insert(7, at: 0)
      #expect(Self.rows(tree.pieces) == [~7])
    }
  }

  @Test func cutsRunsOnlyWhereItMust() {
    var tree = PieceTree(count: 1_000_000)
    tree.insert(0, at: 500)
    #expect(tree.pieces.map(\.length) == [500, 1, 999_500])
    #expect(tree.remove(at: 501).start == 500)
    #expect(tree.remove(at: 499).start == 499)
    #expect(tree.pieces.map(\.length) == [499, 1, 999_499])
    #expect(tree.remove(at: 499).isInserted)
    #expect(tree.remove(at: 0).start == 0)
    #expect(tree.pieces.map(\.start) == [1, 501])
  }
}
