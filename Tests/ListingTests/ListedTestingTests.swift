// What the tests of the guide “Testing your app” find.

import Quire
import QuireTesting
import Testing

@Suite("The crash tests of the guides") struct ListedTestingTests {
  @Test(.enabled(if: TestSize.hasSlowTests, "slow")) func thePlantedBugOfTheGuideIsFoundAndItsMendIsSound() throws {
    let failure = #expect(throws: CrashTestFailure.self) { try TestingListings.testPlays(PlayTotal()) }
    #expect(failure?.finding.hasPrefix("the extension “songs.plays”: found ") == true)
    #expect(failure?.operations.contains { $0.contains("replace the metadata of songs/") } == true)
    var mended = PlayTotal()
    mended.halves = .metadata
    try TestingListings.testPlays(mended)
  }

  @Test(.enabled(if: TestSize.hasSlowTests, "slow")) func theWordIndexOfTheGuideIsSound() throws {
    try TestingListings.testWords()
  }

  @Test func whatACommitHasStoredIsThereAfterThePowerCut() throws {
    #expect(try TestingListings.lose()?.title == "Blue Train")
    try TestingListings.cutPower(PlayTotal(), ExtensionListings.Song(title: "Blue Train"))
  }
}
