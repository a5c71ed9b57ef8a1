// Every piece of Swift that a guide or a comment shows is compiled, as it stands there.

import Foundation
import QuireTesting
import Testing

/// The top of the repository.
let repository = URL(fileURLWithPath: #filePath)
  .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

/// All files below a folder with an ending, and what is in them; by their paths from the top of the repository.
private func files(in folder: String, endingIn suffix: String) throws -> [(path: String, text: String)] {
  let url = repository.appendingPathComponent(folder)
  let all = try #require(FileManager.default.enumerator(atPath: url.path))
  var paths: [String] = []
  while let path = all.nextObject() as? String {
    if path.hasPrefix(".") || path.contains("/.") { continue }
    if path.hasSuffix(suffix) { paths.append(path) }
  }
  return try paths.sorted().map { path in
    (folder + "/" + path, try String(contentsOf: url.appendingPathComponent(path), encoding: .utf8))
  }
}

/// Where listings are compiled: in this module; by `.ci/swiftui`, against stand-ins for what is not everywhere; and in
/// a package that fetches what Quire does not need.
private let compiledFolders = ["Tests/ListingTests/Listings", "Fixtures/SwiftUI", "Tests/HummingbirdServer/Sources"]

/// Every document, read once.
private let allDocuments = Result { try readDocuments() }

/// Every document: the guides, wherever they are, and the sources with their comments.
private func documents() throws -> [ListingReader] { try allDocuments.get() }

private func readDocuments() throws -> [ListingReader] {
  let readme = try String(contentsOf: repository.appendingPathComponent("README.md"), encoding: .utf8)
  let folders = ["Sources", "Tests", "Benchmarks"]
  let guides = try folders.flatMap { try files(in: $0, endingIn: ".md") }
  let sources = try ["Sources", "Benchmarks/Sources"].flatMap { try files(in: $0, endingIn: ".swift") }
  return ([("README.md", readme)] + guides + sources).map { ListingReader($0.1, document: $0.0) }
}

private func listings() throws -> [Listing] { try documents().flatMap(\.listings) }

@Suite("The listings of the documents") struct ListingTests {
  @Test("Each is compiled, line after line") func compiled() throws {
    let sources = try compiledFolders.flatMap { try files(in: $0, endingIn: ".swift") }.map { path, text in
      CompiledCode.File(name: path, lines: text.components(separatedBy: "\n"))
    }
    let code = CompiledCode(sources)
    let listings = try listings().filter { !$0.isManifest }
    #expect(listings.count >= 60)
    for listing in listings where !code.contains(listing) {
      Issue.record(
        "\(listing.document):\(listing.line): nothing in \(compiledFolders) compiles “\(listing.lines[0])”")
    }
  }

  @Test("They say that they are Swift, and stand where they are looked for") func fences() throws {
    for document in try documents() {
      for fault in document.faults { Issue.record("\(fault)") }
    }
  }

  @Test("The files that hold them are code to the compiler, with every trait on, each on its system")
  func nothingIsLeftOut() throws {
    // What a trait turns on, and what Apple's systems alone have.
    let traits = ["#if Encryption", "#if Postgres", "#if canImport(UIKit)"]
    for (path, text) in try compiledFolders.flatMap({ try files(in: $0, endingIn: ".swift") }) {
      for hidden in ["/*", "\"\"\"", "#else", "#elseif"] { #expect(!text.contains(hidden), "\(path) has \(hidden)") }
      for line in text.components(separatedBy: "\n") {
        let line = line.trimmingCharacters(in: .whitespaces)
        if line.hasPrefix("#if") { #expect(traits.contains(line), "\(path): \(line)") }
      }
    }
  }

  @Test("Nothing in them is left to the reader") func noGaps() throws {
    for listing in try listings() {
      let hasGap = listing.lines.contains { $0.contains("…") || $0.contains("...") && !$0.contains("...)") }
      #expect(!hasGap, "\(listing.document):\(listing.line): “\(listing.lines[0])” has a gap")
    }
  }

  #if os(Linux) || os(macOS)
    @Test("The package manager takes those for manifests", .enabled(if: TestSize.hasSlowTests, "slow"))
    func manifests() throws {
      let manifest = try String(contentsOf: repository.appendingPathComponent("Package.swift"), encoding: .utf8)
      let listings = try listings().filter(\.isManifest)
      #expect(listings.count >= 3)
      for listing in listings {
        let place = "\(listing.document):\(listing.line)"
        #expect(listing.lines.allSatisfy(Listing.isManifestEntry), "\(place) is more than entries")
        let described = try Manifest(listing).describe()
        #expect(described.status == 0, "\(place): \(described.output)")
        for trait in Manifest.names(after: "traits: [", in: listing) {
          #expect(manifest.contains(".trait(name: \"\(trait)\""), "\(place): there is no trait \(trait)")
        }
        for product in Manifest.names(after: ".product(name: ", in: listing).prefix(1) {
          #expect(manifest.contains(".library(name: \"\(product)\""), "\(place): there is no product \(product)")
        }
      }
    }
  #endif
}
