// What the extension of the guide “Writing extensions” does.

import Quire
import QuireTesting
import Testing

private typealias Song = ExtensionListings.Song
private typealias PlayState = ExtensionListings.PlayState

@Suite("The extension of the guide") struct ListedExtensionTests {
  @Test func theWordIndexOfTheGuideWorks() throws {
    let folder = try TestFolder()
    let songs = RowCollection<Song, PlayState>("songs")
    var db = try folder.open()
    try db.write { tx throws in
      try tx[songs].set(Song(title: "Blue Train"), for: "s1")
      try tx[songs].set(Song(title: "Take the A Train"), metadata: PlayState(plays: 1), for: "s2")
    }
    try db.register(WordIndex())
    func keys(_ word: String) throws -> [String] {
      try db.read { tx throws in
        try tx.access(to: WordIndex()).rows(with: word).compactMap { try tx.key(of: $0)?.key }
      }
    }
    #expect(try keys("train") == ["s1", "s2"])
    try db.write { tx throws in
      try tx[songs].replace(Song(title: "Blue in Green"), for: "s1")
      try tx[songs].replaceMetadata(nil, for: "s2")
      try tx[songs].set(Song(title: "Night Train"), for: "s3")
    }
    #expect(try keys("train") == ["s2", "s3"])
    #expect(try keys("green") == ["s1"])
    try db.write { tx throws in try tx[songs].remove("s2") }
    try db.close()
    db = try folder.open()
    try db.register(WordIndex())
    #expect(try keys("train") == ["s3"])
    try db.write { tx throws in try tx.removeAll() }
    #expect(try keys("train") == [])
    try db.close()
  }
}
