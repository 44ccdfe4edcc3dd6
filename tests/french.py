"""Sentences in a language that the phrasebook does not have."""

FRENCH = [
    "Le vieux monsieur lit un journal dans le jardin de la maison.",
    "Nous ne voulons pas visiter le musée demain matin.",
    "Quand est-ce que le train arrive à la gare de la ville ?",
    "Les enfants jouent au ballon devant leur école.",
    "Ma sœur achète toujours du pain chez le boulanger.",
    "Il fait très froid aujourd'hui, je préfère rester chez moi.",
    "Combien coûtent ces chaussures rouges, s'il vous plaît ?",
    "Elle travaille depuis longtemps dans un grand hôpital.",
]
